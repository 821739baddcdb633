"use strict";
// Follows what the page asks of Gradio's queue, for tests: `window.queueRests()` waits until all of it was answered.
(() => {
  const send = window.fetch;
  const asked = new Set(), answered = new Set(), streams = new Set();
  let joining = 0;

  window.fetch = (...given) => {
    const address = String(given[0]?.url ?? given[0]);
    if (address.includes("/queue/join")) return join(given);
    return address.includes("/queue/data") ? listen(given) : send(...given);
  };

  async function join(given) {
    joining += 1;
    try {
      const answer = await send(...given);
      const { event_id } = await answer.clone().json();
      // Another stream that is open may have brought its end before.
      if (event_id && !answered.has(event_id)) asked.add(event_id);
      return answer;
    } finally {
      joining -= 1;
    }
  }

  async function listen(given) {
    const answer = await send(...given);
    const [own, ours] = answer.body.tee();
    follow(ours.pipeThrough(new TextDecoderStream()).getReader());
    return new Response(own, { status: answer.status, headers: answer.headers });
  }

  async function follow(reader) {
    const stream = { ends: false };
    streams.add(stream);
    let text = "";
    try {
      for (let { done, value } = await reader.read(); !done; { done, value } = await reader.read()) {
        const messages = (text + value).split("\n\n");
        text = messages.pop();
        messages.forEach((message) => note(JSON.parse(message.slice("data:".length)), stream));
      }
    } catch (error) {
      // The page itself aborts a stream when the server says that it closes it.
      if (error.name !== "AbortError") throw error;
    } finally {
      streams.delete(stream);
    }
  }

  function note({ msg, event_id }, stream) {
    if (msg !== "process_completed") return;
    asked.delete(event_id);
    answered.add(event_id);
    // The server closes a stream when it has answered the last that was asked, and then only.
    stream.ends = true;
  }

  // A stream that has brought no answer stays open: the page opens one when the answer came before it knew what it had
  // asked. It does no harm, as the next answer comes there.
  const isBusy = () => joining > 0 || asked.size > 0 || [...streams].some((stream) => stream.ends);
  const pause = (milliseconds) => new Promise((done) => setTimeout(() => requestIdleCallback(done), milliseconds));

  window.queueRests = async (moments, milliseconds, patience) => {
    const deadline = performance.now() + patience;
    for (let quiet = 0; quiet < moments; quiet = isBusy() ? 0 : quiet + 1) {
      if (performance.now() > deadline) throw Error(`${joining} ${[...asked]} ${JSON.stringify([...streams])}`);
      await pause(milliseconds);
    }
  };
})();
