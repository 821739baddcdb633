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

  const rowOf = (event) => event.target.closest?.("tr[data-run]");
  document.addEventListener("click", (event) => rowOf(event) && open(rowOf(event)));
  document.addEventListener("keydown", (event) => event.key === "Enter" && rowOf(event) && open(rowOf(event)));
  // A file that misses its box must not take the page's place.
  for (const name of ["dragover", "drop"]) {
    window.addEventListener(name, (event) => event.target.closest?.("button, input") || event.preventDefault());
  }
  new MutationObserver(follow).observe(document.body, { childList: true, subtree: true });
})();
