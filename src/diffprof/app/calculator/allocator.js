// PyTorch's caching allocator, followed step by step: what diffprof.prediction.allocator does in Python.

const MIB = 1024 ** 2;
const SMALLEST_BLOCK = 512;
const SMALL_REQUEST = MIB;
const SMALL_SEGMENT = 2 * MIB;
const LARGE_REQUEST = 10 * MIB;
const MIDDLE_SEGMENT = 20 * MIB;
const LARGE_STEP = 2 * MIB;

/** A request cannot be met, not even after all cached memory was given back. */
export class OutOfDeviceMemory extends Error {}

export class CachingAllocator {
  constructor(capacity = null) {
    this.capacity = capacity;
    this.allocated = 0;
    this.reserved = 0;
    this.mostReserved = 0;
    this.address = 0;
    this.free = { small: [], large: [] };
  }

  allocate(bytes) {
    const size = Math.max(SMALLEST_BLOCK, Math.ceil(bytes / SMALLEST_BLOCK) * SMALLEST_BLOCK);
    const isSmall = size <= SMALL_REQUEST;
    const free = isSmall ? this.free.small : this.free.large;
    const place = lowerBound(free, size, -1);
    const block = place < free.length ? free.splice(place, 1)[0] : this.#newSegment(size, isSmall);
    block.isFree = false;
    const left = block.size - size;
    if (isSmall ? left >= SMALLEST_BLOCK : left > SMALL_REQUEST) this.#split(block, size);
    this.allocated += block.size;
    return block;
  }

  release(released) {
    let block = released;
    this.allocated -= block.size;
    for (const neighbour of [block.preceding, block.following]) {
      if (neighbour && neighbour.isFree) block = this.#merge(block, neighbour);
    }
    block.isFree = true;
    this.#keep(block);
  }

  /** Give segments that hold nothing back to the device. */
  emptyCache() {
    for (const kind of ["small", "large"]) {
      this.free[kind] = this.free[kind].filter((block) => {
        const isWhole = !block.preceding && !block.following;
        if (isWhole) this.reserved -= block.size;
        return !isWhole;
      });
    }
  }

  #newSegment(size, isSmall) {
    let segment = Math.ceil(size / LARGE_STEP) * LARGE_STEP;
    if (isSmall) segment = SMALL_SEGMENT;
    else if (size < LARGE_REQUEST) segment = MIDDLE_SEGMENT;
    if (this.capacity !== null && this.reserved + segment > this.capacity) {
      this.emptyCache();
      if (this.reserved + segment > this.capacity) throw new OutOfDeviceMemory();
    }
    this.reserved += segment;
    this.mostReserved = Math.max(this.mostReserved, this.reserved);
    const block = { size: segment, address: this.address, isSmall, isFree: false, preceding: null, following: null };
    this.address += segment;
    return block;
  }

  #split(block, size) {
    const rest = {
      size: block.size - size,
      address: block.address + size,
      isSmall: block.isSmall,
      isFree: true,
      preceding: block,
      following: block.following,
    };
    if (block.following) block.following.preceding = rest;
    block.following = rest;
    block.size = size;
    this.#keep(rest);
  }

  #merge(block, neighbour) {
    const free = neighbour.isSmall ? this.free.small : this.free.large;
    free.splice(lowerBound(free, neighbour.size, neighbour.address), 1);
    const [first, second] = neighbour === block.preceding ? [neighbour, block] : [block, neighbour];
    first.size += second.size;
    first.following = second.following;
    if (second.following) second.following.preceding = first;
    return first;
  }

  #keep(block) {
    const free = block.isSmall ? this.free.small : this.free.large;
    free.splice(lowerBound(free, block.size, block.address), 0, block);
  }
}

/** The first place of blocks that are sorted by size and address which does not come before these. */
function lowerBound(blocks, size, address) {
  let low = 0, high = blocks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const block = blocks[middle];
    if (block.size < size || (block.size === size && block.address < address)) low = middle + 1;
    else high = middle;
  }
  return low;
}
