"use strict";
const bar = document.getElementById("search"), field = document.getElementById("words"), told = document.getElementById("n-shown");
const leaks = document.getElementById("show-leaks"), every = document.getElementById("show-all");
const cases = [...document.querySelectorAll(".case")], silent = [...document.querySelectorAll(".silences > li")];
const groups = [...new Set(silent.map(item => item.closest("details")))];
const plain = text => text.toLowerCase().replace(/\s+/g, " ");
const texts = new Map([...cases, ...silent].map(item => [item, plain(item.dataset.words)]));
function search() {
  const words = plain(field.value).split(" ").filter(Boolean);
  const found = item => words.every(word => texts.get(item).includes(word));
  for (const item of texts.keys()) item.hidden = !found(item);
  for (const group of groups) {
    const n = silent.filter(item => !item.hidden && group.contains(item)).length;
    group.hidden = n === 0;
    group.open = words.length > 0 && n > 0;
  }
  const seen = cases.filter(item => !item.hidden && !(leaks.checked && item.classList.contains("severity-none")));
  for (const part of document.querySelectorAll(".partner"))
    part.classList.toggle("empty", words.length > 0 && !seen.some(item => part.contains(item)));
  const below = leaks.checked ? 0 : silent.filter(item => !item.hidden).length;
  told.textContent = `${seen.length} of ${cases.length} attacks` + (words.length && below ? `, and ${below} without an answer, below` : "");
}
field.addEventListener("input", search);
leaks.addEventListener("change", search);
every.addEventListener("change", search);
field.addEventListener("keydown", event => { if (event.key === "Escape") { field.value = ""; search(); } });
document.addEventListener("keydown", event => {
  if (event.key !== "/" || event.ctrlKey || event.altKey || event.metaKey || event.target === field) return;
  event.preventDefault();
  field.focus();
});
bar.hidden = false;
search();
