// The HTTP API of the server: calls, errors and the stream of events.

import { stored, store } from "./dom.js";

/** An answer that is not 2xx, or no answer at all (status 0). The message is one sentence for the user. */
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

let askForKey = async () => "";
let asking = null; // the question that is open; calls that need a key at the same time share it

/** Sets the function that asks the user for an API key; it returns "" if the user gives none. */
export function onKeyNeeded(ask) {
  askForKey = ask;
}

function headers(extra = {}) {
  const key = stored("key");
  return key ? { ...extra, Authorization: `Bearer ${key}` } : extra;
}

async function request(method, path, { json, body, signal, accept } = {}) {
  const send = () =>
    fetch(path, {
      method,
      signal,
      body: json === undefined ? body : JSON.stringify(json),
      headers: headers({
        ...(json === undefined ? {} : { "Content-Type": "application/json" }),
        ...(accept ? { Accept: accept } : {}),
      }),
    });
  let response = await reach(send);
  if (response.status === 401) {
    asking ??= askForKey().finally(() => (asking = null));
    const key = await asking;
    if (key) {
      store("key", key);
      response = await reach(send);
    }
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

async function reach(send) {
  try {
    return await send();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "offline", "");
  }
}

async function errorOf(response) {
  const text = await response.text();
  try {
    const { error } = JSON.parse(text);
    return new ApiError(response.status, error.code, error.message);
  } catch {
    return new ApiError(response.status, "unknown", `${response.status} ${response.statusText}`);
  }
}

async function call(method, path, options) {
  const response = await request(method, path, options);
  return response.status === 204 ? null : response.json();
}

const at = (id, rest = "") => `/v1/jobs/${encodeURIComponent(id)}${rest}`;

export const listJobs = (limit, offset) => call("GET", `/v1/jobs?limit=${limit}&offset=${offset}`);
export const getModels = () => call("GET", "/v1/models");
export const getJob = (id) => call("GET", at(id));
export const getSentences = (id) => call("GET", at(id, "/sentences"));
export const getGraph = (id) => call("GET", at(id, "/graph"));
export const getGlossary = (id) => call("GET", at(id, "/glossary"));
export const getComparison = (id) => call("GET", at(id, "/compare"));
export const explain = (id, index, signal) => call("GET", at(id, `/sentences/${index}/explain`), { signal });
export const removeJob = (id) => call("DELETE", at(id));
export const cancel = (id) => call("POST", at(id, "/cancel"));
export const resume = (id) => call("POST", at(id, "/resume"));
export const undo = (id) => call("POST", at(id, "/undo"));
export const redo = (id) => call("POST", at(id, "/redo"));
export const putGlossary = (id, entries) => call("PUT", at(id, "/glossary"), { json: entries });
export const accept = (id, indices) => call("POST", at(id, "/proposals"), { json: { accept: indices } });
export const refuse = (id, indices) => call("POST", at(id, "/proposals"), { json: { refuse: indices } });
export const getFormats = () => call("GET", "/v1/formats");
export const createFromText = (text, name, options) => call("POST", "/v1/jobs", { json: { text, name, ...options } });

/** Stores a translation, and confirms it or not. Returns {sentence, changes}. */
export const correct = (id, index, translation, confirm, revision) =>
  call("PATCH", at(id, `/sentences/${index}`), { json: { translation, confirm, revision } });

/** Uploads a document; `force` translates it whatever its language, `formality` says how it addresses people. */
export function createFromFile(file, { force, formality }) {
  const body = new FormData();
  body.append("file", file, file.name);
  if (force) body.append("force", "true");
  body.append("formality", formality);
  return call("POST", "/v1/jobs", { body });
}

/** Returns {blob, name} of the document in its own format or as a bilingual file. */
export async function download(id, as) {
  const response = await request("GET", at(id, `/download?as=${as}`));
  const disposition = response.headers.get("Content-Disposition") ?? "";
  const encoded = /filename\*=UTF-8''([^;]+)/i.exec(disposition)?.[1];
  const name = encoded ? decodeURIComponent(encoded) : /filename="([^"]+)"/.exec(disposition)?.[1];
  return { blob: await response.blob(), name };
}

/** Calls handle(event, data) for each event after `revision`, and reconnects until it is stopped.
 *
 * fetch, not EventSource: EventSource cannot send an API key. `connected(bool)` tells of losses.
 */
export function follow(id, revision, handle, connected) {
  const stop = new AbortController();
  let last = revision;
  const seen = (event, data, eventId) => {
    if (eventId !== "") last = eventId;
    handle(event, data);
  };
  (async () => {
    for (let failures = 0; !stop.signal.aborted; failures++) {
      try {
        const response = await request("GET", at(id, `/events?after=${last}`), {
          signal: stop.signal,
          accept: "text/event-stream",
        });
        connected(true);
        failures = 0;
        await readEvents(response.body, seen);
      } catch (error) {
        if (stop.signal.aborted || error.status === 404 || error.status === 401) return;
        if (failures) connected(false); // the first loss is often a server that closes a long connection
      }
      if (stop.signal.aborted) return;
      await new Promise((wake) => setTimeout(wake, Math.min(5_000, 300 * 2 ** failures)));
    }
  })();
  return () => stop.abort();
}

async function readEvents(body, seen) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(/\r?\n\r?\n/);
    rest = parts.pop();
    for (const part of parts) {
      const fields = { event: "", data: "", id: "" };
      for (const line of part.split(/\r?\n/)) {
        const colon = line.indexOf(":");
        if (colon > 0) fields[line.slice(0, colon)] += line.slice(colon + 1).replace(/^ /, "");
      }
      if (fields.data) seen(fields.event, JSON.parse(fields.data), fields.id);
    }
  }
}
