import fs from "fs";
import { db } from "./db";

const apiKey = "sk_live_51H8xkq9"; // want js/hard-coded-secret
const example = { password: "your-password-1" };

export function query(name: string) {
  db.run(`SELECT * FROM users WHERE name = '${name}'`); // want js/sql-injection
  db.run("DELETE FROM users WHERE id = " + name); // want js/sql-injection
  db.run("SELECT a.b FROM a JOIN c ON a.b = c.d " + // want js/sql-injection
    "WHERE c.e = '" + name + "' ORDER BY b");
  db.run(`DELETE FROM ${table} WHERE id IN (${pgp.as.csv(ids)})`);
  db.run("DELETE FROM users WHERE id = " + db.escape(name));
  db.run("SELECT name FROM " + table);
  db.run("SELECT * FROM users WHERE id = $1", [name]);
}

export function dangerous(text: string, el: HTMLElement) {
  eval(text); // want js/eval
  new Function(text); // want js/eval
  new Function("return 1");
  eval("1");
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
  setInterval(() => h, 1000);
  window.addEventListener("scroll", files);
  window.addEventListener("load", files, { once: true });
  for (const x of [1, 2]) {
    setTimeout(files, x);
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
  if (a && a.b && a.b.c) return;
  const first = list[0].length;
  const found = list.find((x) => x === b).length;
  const cast = a as any;
  const sure = a!.b;
  const both = list.filter((x) => x).map((x) => x + first);
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
      for (const z of list) {
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
  await Promise.all(ids.map(async (id) => {
    total += await save(id); // want js/shared-state-in-parallel
  }));
  save(total); // want js/missing-await
  await save(1);
  const text = fs.readFileSync("a");
  return text;
}

// FIXME this is wrong // want js/fixme-comment
export const tls = { rejectUnauthorized: false }; // want js/tls-not-verified

// A comment about http://example.com/ and an apostrophe's text.
export async function promises(list: number[]) {
  if (save(1)) return; // want js/promise-condition
  if (await save(2)) return;
  list.forEach(async (x) => { await save(x); }); // want js/async-for-each
  for (let i = 0; i <= list.length; i++) list[i] += 1; // want js/index-past-end
  for (let i = 0; i <= list.length; i++) console.log(i);
}

export function choices(a: string, b: string[]) {
  switch (a) {
    case "a":
      b.push(a);
    case "b": // want js/switch-fallthrough
      b.pop();
      break;
    case "c":
      b.push(a);
      // falls through
    case "d":
      return 1;
    case "d": // want js/duplicate-case
      return 2;
  }
  if (typeof a === "strng") return 3; // want js/impossible-comparison
  if (b === []) return 4; // want js/impossible-comparison
  if (!a in b) return 5; // want js/negated-operand
  return { a: 1, b: 2, a: 3 }; // want js/duplicate-key
}

type Chosen<T> = T extends string ? never : T extends number ? "eval(text)" : any;

export function secrets(user: { password: string; salt: string }, hash: any) {
  const resetToken = Math.random().toString(36); // want js/weak-random
  const jitter = Math.random() * 10;
  const stored = hash.createHash("md5").update(user.password).digest("hex"); // want js/weak-hash
  const etag = hash.createHash("md5").update(stored).digest("hex");
  return { resetToken, jitter, etag };
}
