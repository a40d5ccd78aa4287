// Keeps the list of latest calls fresh: asks for the list's fragment every two
// seconds while the page is visible, nothing is selected and "live" is checked.
"use strict";
const calls = document.getElementById("calls");
const live = document.getElementById("live");
if (calls && live && calls.dataset.fragment) {
  const refresh = async () => {
    if (live.checked && !document.hidden && String(window.getSelection()) === "") {
      try {
        const answer = await fetch(calls.dataset.fragment, { headers: { Accept: "text/html" } });
        if (answer.ok) {
          calls.innerHTML = await answer.text(); // escaped by the server's templates
          calls.classList.remove("stale");
        } else {
          calls.classList.add("stale");
        }
      } catch {
        calls.classList.add("stale");
      }
    }
    setTimeout(refresh, 2000);
  };
  setTimeout(refresh, 2000);
}
