import fs from "fs";
import { db } from "./db";

const apiKey = "sk_live_51H8xkq9"; // want js/hard-coded-secret
const example = { password: "your-password-1" };

export function query(name: string) {
  db.run(`SELECT * FROM users WHERE name = '${name}'`); // want js/sql-injection
  db.run("DELETE FROM users WHERE id = " + name); // want js/sql-injection
  db.run("SELECT * FROM users WHERE id = $1", [name]);
}

export function dangerous(text: string, el: HTMLElement) {
  eval(text); // want js/eval
  new Function(text); // want js/eval
  setTimeout("tick()", 10); // want js/eval
  el.innerHTML = text; // want js/dynamic-html
  el.innerHTML = "<b>ok</b>";
  document.write(text); // want js/dynamic-html
  // eval(text) in a comment, "eval(text)" in a string: neither counts.
  const s = "eval(text)";
  throw "failed: " + s; // want js/throw-literal
}

export function files() {
  const h = fs.openSync("a", "r"); // want js/unclosed-file
  setInterval(() => h, 1000); // want js/interval-not-cleared
  window.addEventListener("scroll", files); // want js/listener-not-removed
  window.addEventListener("load", files, { once: true });
  for (const x of [1, 2]) {
    setTimeout(files, x); // want js/timeout-in-loop
  }
}

export function conditions(a: any, b: string, list: string[]) {
  if (a = 5) { // want js/assignment-in-condition
    debugger; // want js/debugger
  }
  let m;
  while ((m = /x/g.exec(b))) list.push(m[0]);
  if (a === NaN) return; // want js/nan-comparison
  if (typeof b == "string") return; // want js/loose-equality
  if (a == null) return;
  if (a == b) return; // want js/loose-equality
  if (a && a.b && a.b.c) return; // want js/repeated-null-check
  const first = list[0].length; // want js/unchecked-index
  const found = list.find((x) => x === b).length; // want js/unchecked-index
  const cast = a as any; // want js/any-cast
  const sure = a!.b; // want js/non-null-assertion
  const both = list.filter((x) => x).map((x) => x + first); // want js/chained-array-calls
  try {
    found;
  } catch (e) {} // want js/empty-catch
  try {
    cast;
  } catch {
    // nothing to do
  }
  for (const x of list) {
    for (const y of list) {
      for (const z of list) { // want js/nested-loops
        both.push(x + y + z + sure);
      }
    }
  }
}

async function save(x: number) {
  return x;
}

export async function parallel(ids: number[]) {
  let total = 0;
  await Promise.all(ids.map(async (id) => { // want js/shared-state-in-parallel
    total += await save(id);
  }));
  save(total); // want js/missing-await
  await save(1);
  const text = fs.readFileSync("a"); // want js/blocking-call
  return text;
}

// FIXME this is wrong // want js/fixme-comment
export const tls = { rejectUnauthorized: false }; // want js/tls-not-verified
