"use strict";
// What Gradio has no words for: the state in the address, and rows of tables that open what they stand for.
(function () {
  function follow() {
    const said = document.querySelector("#profile-totals [data-address]");
    if (said && location.search !== said.dataset.address) history.replaceState(null, "", said.dataset.address);
  }

  function open(row) {
    window.diffprofRow = row.dataset.run;
    document.getElementById("history-clicked").click();
  }

  // The same button as in reports, for code that appears while the page is open.
  function offerCopies() {
    for (const block of document.querySelectorAll(".diffprof .code:not(:has(button))")) {
      const copy = document.createElement("button");
      copy.type = "button";
      copy.textContent = "Copy";
      copy.addEventListener("click", () => copyCode(block, copy));
      block.append(copy);
    }
  }

  async function copyCode(block, button) {
    const lines = [...block.querySelectorAll("pre > code")].map((line) => line.textContent.replaceAll("\u00a0", " ").trimEnd());
    try {
      await navigator.clipboard.writeText(lines.join("\n"));
      button.textContent = "Copied";
    } catch {
      // Without https a page may not write to the clipboard: the code is selected instead.
      getSelection().selectAllChildren(block.querySelector("pre"));
    }
  }

  const rowOf = (event) => event.target.closest?.("tr[data-run]");
  document.addEventListener("click", (event) => rowOf(event) && open(rowOf(event)));
  document.addEventListener("keydown", (event) => event.key === "Enter" && rowOf(event) && open(rowOf(event)));
  // A file that misses its box must not take the page's place.
  for (const name of ["dragover", "drop"]) {
    window.addEventListener(name, (event) => event.target.closest?.("button, input") || event.preventDefault());
  }
  new MutationObserver(() => {
    follow();
    offerCopies();
  }).observe(document.body, { childList: true, subtree: true });
})();
