// The start page: drop a document, paste text, or go on with a saved document.

import * as api from "./api.js";
import { h, icon, redraw, store, stored } from "./dom.js";
import { formatted, languageName, t, when } from "./i18n.js";
import { announce, ask, failed, notice } from "./messages.js";

const EXAMPLE = [
  "The harbour of Port Verne was damaged by the storms of last winter. " +
    "The harbour master presented the damage report to the committee.",
  "The seawall must be repaired before the end of the year. " +
    "The harbour is important for small businesses in the region. " +
    "According to the damage report, the seawall can no longer protect the fishing boats.",
  "The harbour master asked whether the European Union could finance the seawall. " +
    "The committee thanked the harbour master and will vote on the damage report in April. " +
    "Without a new seawall, the harbour would have to close.",
].join("\n\n");
const FORMALITIES = ["any", "formal", "informal"];
const PAGE = 20; // documents listed at once
const REFRESH = 2000; // milliseconds between looks at documents that are being translated

export class Start {
  constructor(app) {
    this.app = app;
    this.file = h("input", {
      type: "file",
      id: "file",
      class: "visually-hidden",
      onchange: () => this.upload(this.file.files[0]),
    });
    this.status = h("p", { class: "uploading", role: "status" });
    this.text = h("textarea", {
      id: "text",
      rows: 4,
      dir: "auto",
      maxlength: 1_000_000,
      onkeydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.text.form.requestSubmit();
      },
    });
    this.jobs = h("ul", { class: "jobs" });
    this.languages = h("p", { class: "languages" });
    this.formality = h(
      "select",
      { id: "formality", onchange: () => store("formality", this.formality.value) },
      ...FORMALITIES.map((value) => h("option", { value }, t(`formality.${value}`))),
    );
    this.address = h("p", { class: "address", hidden: true }, h("label", { for: "formality" }, t("start.formality")), this.formality);
    this.limit = PAGE;
    this.more = h("button", { type: "button", class: "more", hidden: true, onclick: () => this.showMore() }, t("start.more"));
    this.element = h("div", { class: "start" }, this.intro(), this.dropZone(), this.paste(), this.saved());
    this.stop = new AbortController();
    this.listenForDrops();
    this.readJobs();
    this.readFormats();
    this.readLanguages();
  }

  /** Shows what the model translates from and to. */
  async readLanguages() {
    const [model] = await api.getModels().catch(() => []);
    const [source, target] = model?.languages ?? [];
    if (!source || !target) return;
    const names = { source: languageName(source), target: languageName(target) };
    this.address.hidden = !model.formality;
    if (model.formality) this.formality.value = FORMALITIES.find((each) => each === stored("formality")) ?? "any";
    this.languages.replaceChildren(
      h("span", { class: "visually-hidden" }, t("start.languages", names)),
      h("span", { "aria-hidden": "true" }, `${names.source} → ${names.target}`),
    );
  }

  /** Lets the file dialog offer only files that can be translated. */
  async readFormats() {
    const { extensions } = await api.getFormats().catch(() => ({ extensions: [] }));
    if (extensions.length) this.file.accept = extensions.join(",");
  }

  close() {
    this.stop.abort();
    clearTimeout(this.timer);
  }

  intro() {
    return h("div", { class: "intro" }, h("h1", {}, t("start.title")), h("p", {}, t("start.lead")), this.languages);
  }

  dropZone() {
    return h(
      "div",
      { class: "drop" },
      icon("file"),
      h("p", { class: "drop-title" }, t("start.drop")),
      h("p", { class: "hint" }, t("start.formats")),
      h(
        "div",
        { class: "buttons" },
        this.file,
        h("label", { for: "file", class: "button primary" }, t("start.choose")),
        this.example(),
      ),
      this.address,
      this.status,
    );
  }

  example() {
    return h(
      "button",
      {
        type: "button",
        onclick: () => this.create((options) => api.createFromText(EXAMPLE, t("start.exampleName"), options)),
      },
      t("start.example"),
    );
  }

  paste() {
    const submit = (event) => {
      event.preventDefault();
      const text = this.text.value.trim();
      const name = beginning(text) || t("start.textName");
      if (text) this.create((options) => api.createFromText(text, name, options));
    };
    return h(
      "form",
      { class: "paste", onsubmit: submit },
      h("label", { for: "text" }, t("start.text")),
      this.text,
      h("div", { class: "buttons end" }, h("button", {}, t("start.translate"))),
    );
  }

  saved() {
    return h(
      "section",
      { class: "saved", "aria-labelledby": "saved" },
      h("h2", { id: "saved" }, t("start.saved")),
      this.jobs,
      this.more,
    );
  }

  /** The whole window takes a dropped file. */
  listenForDrops() {
    const { signal } = this.stop;
    const over = (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      this.element.classList.toggle("dragging", event.type === "dragover");
    };
    window.addEventListener("dragover", over, { signal });
    window.addEventListener("dragleave", (event) => !event.relatedTarget && this.element.classList.remove("dragging"), {
      signal,
    });
    window.addEventListener(
      "drop",
      (event) => {
        over(event);
        const [file] = event.dataTransfer.files;
        if (file) this.upload(file);
      },
      { signal },
    );
  }

  upload(file) {
    if (!file) return undefined;
    this.status.textContent = t("start.uploading", { name: file.name });
    return this.create((options) => api.createFromFile(file, options));
  }

  /** Makes a job; a document in another language is translated if the user insists. */
  async create(send, force = false) {
    this.element.setAttribute("aria-busy", "true");
    notice("");
    try {
      const job = await send({ force, formality: this.formality.value });
      location.hash = `#/${job.id}`;
    } catch (error) {
      const anyway = h("button", { type: "button", onclick: () => this.create(send, true) }, t("start.anyway"));
      if (error.code !== "other_language") failed(error, () => this.create(send, force));
      else notice(error.message.split(";")[0], anyway);
      this.status.textContent = "";
      this.file.value = "";
    } finally {
      this.element.removeAttribute("aria-busy");
    }
  }

  async readJobs() {
    let jobs;
    try {
      jobs = await api.listJobs(this.limit + 1, 0);
    } catch (error) {
      return failed(error, () => this.readJobs());
    }
    if (this.stop.signal.aborted) return undefined;
    const list = jobs.slice(0, this.limit).sort((a, b) => (a.updated < b.updated ? 1 : -1));
    this.more.hidden = jobs.length <= this.limit;
    const items = list.length ? list.map((job) => this.item(job)) : [h("li", { class: "hint" }, t("start.none"))];
    redraw(this.jobs, () => this.jobs.replaceChildren(...items));
    if (list.some((job) => ["queued", "running"].includes(job.state)))
      this.timer = setTimeout(() => this.readJobs(), REFRESH);
    return undefined;
  }

  async showMore() {
    const before = this.jobs.children.length;
    this.limit += PAGE;
    await this.readJobs();
    this.jobs.children[before]?.querySelector("a").focus();
  }

  item(job) {
    const isOpen = ["queued", "running"].includes(job.state);
    const share = formatted(job.sentences ? job.translated / job.sentences : 0, { style: "percent" });
    const state = isOpen ? `${t(`state.${job.state}`)} ${share}` : job.state === "done" ? "" : t(`state.${job.state}`);
    const facts = [formatName(job.format), t("sentences", { n: job.sentences }), when(job.updated), state]
      .filter(Boolean)
      .join(" · ");
    const name = t("start.remove", { name: job.name });
    return h(
      "li",
      { class: "job" },
      h("a", { href: `#/${job.id}` }, h("span", { class: "job-name" }, job.name), h("span", { class: "soft" }, facts)),
      h(
        "button",
        { class: "quiet", type: "button", "aria-label": name, title: name, onclick: () => this.remove(job) },
        icon("trash"),
      ),
    );
  }

  async remove(job) {
    const answer = await ask(t("start.confirmRemove", { name: job.name }), (dialog) => [
      h(
        "div",
        { class: "buttons end" },
        h("button", { type: "button", onclick: () => dialog.close("") }, t("cancel")),
        h(
          "button",
          { type: "button", class: "danger", onclick: () => dialog.close("yes") },
          t("start.remove", { name: "" }).trim(),
        ),
      ),
    ]);
    if (answer !== "yes") return;
    try {
      await api.removeJob(job.id);
      store(`at.${job.id}`, null);
      announce(t("start.remove", { name: job.name }));
      await this.readJobs();
    } catch (error) {
      failed(error);
    }
  }
}

/** Returns the first words of a text, with an ellipsis if there are more. */
function beginning(text) {
  const words = text.split(/\s+/);
  const shown = words.slice(0, 6).join(" ").slice(0, 60);
  return shown.length < words.join(" ").length ? `${shown} …` : shown;
}

/** Returns the name of a format as people write it: "lines" is text, "docx" is DOCX. */
function formatName(format) {
  const [base] = format.split(":");
  const names = { lines: t("format.text"), text: t("format.text"), markdown: "Markdown", properties: "Properties" };
  return names[base] ?? base.toUpperCase();
}
