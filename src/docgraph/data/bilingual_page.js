"use strict";
// The segments are the content of the JSON element, which every edit updates: saving the page saves the edits.
const store = document.getElementById("segments");
const rows = JSON.parse(store.textContent);
const original = rows.map((row) => ({ ...row }));
const body = document.querySelector("tbody");

let isSaved = true;
addEventListener("beforeunload", (event) => !isSaved && event.preventDefault());

function update() {
  store.textContent = JSON.stringify(rows).replaceAll("<", "\\u003c");
  const confirmed = rows.filter((row) => row.status === "confirmed").length;
  document.getElementById("count").textContent = `${confirmed} of ${rows.length} confirmed`;
}

function show(row, line, box) {
  box.checked = row.status === "confirmed";
  line.classList.toggle("confirmed", box.checked);
}

body.replaceChildren(...rows.map((row, index) => {
  const line = document.createElement("tr");
  const [source, cell, status] = ["td", "td", "td"].map((name) => document.createElement(name));
  const translation = document.createElement("div");
  const box = document.createElement("input");
  source.textContent = row.source;
  source.lang = body.dataset.source;
  source.dir = translation.dir = "auto";
  translation.textContent = row.translation;
  translation.lang = body.dataset.target;
  translation.contentEditable = "plaintext-only";
  translation.setAttribute("role", "textbox");
  translation.setAttribute("aria-label", `Translation ${index + 1}`);
  translation.addEventListener("input", () => {
    row.translation = translation.textContent.replace(/[ \t\r\n]+/g, " ").trim();
    const same = row.translation === original[index].translation;
    row.status = same ? original[index].status : row.translation ? "confirmed" : "";
    show(row, line, box);
    isSaved = false;
    update();
  });
  box.type = "checkbox";
  box.setAttribute("aria-label", `Confirm translation ${index + 1}`);
  box.addEventListener("change", () => {
    const machine = original[index].status.startsWith("machine") && row.translation === original[index].translation;
    row.status = box.checked && row.translation ? "confirmed" : machine ? original[index].status : "";
    show(row, line, box);
    isSaved = false;
    update();
  });
  cell.append(translation);
  cell.addEventListener("click", () => translation.focus());
  status.append(box);
  line.append(source, cell, status);
  show(row, line, box);
  return line;
}));

document.getElementById("save").addEventListener("click", () => {
  const page = "<!DOCTYPE html>\n" + document.documentElement.outerHTML;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([page], { type: "text/html" }));
  link.download = `${document.title || "translation"}.html`;
  link.click();
  URL.revokeObjectURL(link.href);
  isSaved = true;
});
update();
