// The language of the interface: t("key", {n: 3}) and the doubts of the server in words of that language.

import { store, stored } from "./dom.js";
import en from "./strings.en.js";
import fr from "./strings.fr.js";

const LANGUAGES = { en, fr };
let language = initial();
let plural = new Intl.PluralRules(language);
let number = new Intl.NumberFormat(language);

/** Returns the locale of the interface: that of the browser (en-GB) if it is of the same language. */
function locale() {
  return navigator.languages?.find((each) => each.slice(0, 2) === language) ?? language;
}

/** Returns the name of a language, such as "French"; the code if it is unknown. */
export function languageName(code) {
  const name = new Intl.DisplayNames(language, { type: "language" }).of(code);
  return name[0].toLocaleUpperCase(language) + name.slice(1);
}

function initial() {
  const chosen = stored("language");
  if (chosen in LANGUAGES) return chosen;
  return navigator.languages?.find((each) => each.slice(0, 2) in LANGUAGES)?.slice(0, 2) ?? "en";
}

/** Returns the code of the language of the interface. */
export function currentLanguage() {
  return language;
}

/** Changes the language of the interface; the caller draws the page again. */
export function setLanguage(code) {
  language = code;
  plural = new Intl.PluralRules(code);
  number = new Intl.NumberFormat(code);
  store("language", code);
  document.documentElement.lang = code;
}

/** Returns the text for a key; {name} is replaced by values, and {n} chooses the plural form. */
export function t(key, values = {}) {
  let text = LANGUAGES[language][key] ?? en[key];
  if (text === undefined) throw new Error(`no text for "${key}"`);
  if (typeof text === "object") text = text[plural.select(values.n)] ?? text.other;
  return text.replace(/\{(\w+)\}/g, (_, name) =>
    typeof values[name] === "number" ? number.format(values[name]) : values[name],
  );
}

/** Returns a number with the separators of the language. */
export function formatted(value, options) {
  return options ? new Intl.NumberFormat(language, options).format(value) : number.format(value);
}

/** Returns a date as people say it: today's time, or the day. */
export function when(date) {
  const value = new Date(typeof date === "number" ? date * 1000 : date);
  const isToday = value.toDateString() === new Date().toDateString();
  return new Intl.DateTimeFormat(locale(), isToday ? { timeStyle: "short" } : { dateStyle: "medium" }).format(value);
}

/** Returns a doubt of the server ("18 is missing") in the language of the interface. */
export function doubt(reason) {
  if (`doubt.${reason}` in en) return t(`doubt.${reason}`);
  const missing = /^(.*) is missing$/s.exec(reason);
  if (missing) return t("doubt.missing", { what: missing[1] });
  const word = /^'(.*)' may not be a word$/s.exec(reason);
  if (word) return t("doubt.word", { word: word[1] });
  const term = /^(.*) is not '(.*)'$/s.exec(reason);
  return term ? t("doubt.term", { source: term[1], target: term[2] }) : reason;
}

document.documentElement.lang = language;
