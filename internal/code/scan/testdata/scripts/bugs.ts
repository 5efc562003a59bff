import { exec, spawn } from "node:child_process";
import { db } from "./db";

const apiKey = "sk_live_51H8xkq9"; // want js/hard-coded-secret
const example = { password: "your-password-1" };
export const tls = { rejectUnauthorized: false }; // want js/tls-not-verified

export function query(req: any, res: any) {
  const name = req.query.name;
  const { sort, page } = req.query;
  const id = Number(req.params.id);
  const kind = req.query.kind;
  if (!["a", "b"].includes(kind) || !name) return;
  db.run(`SELECT * FROM users WHERE name = '${name}'`); // want js/sql-injection
  db.run("DELETE FROM users WHERE id = " + req.params.id); // want js/sql-injection
  db.run("SELECT a.b FROM a JOIN c ON a.b = c.d " + // want js/sql-injection
    "WHERE c.e = '" + name.trim() + "' ORDER BY " + sort);
  db.run("SELECT * FROM users WHERE id = " + id + " AND kind = '" + kind + "'");
  db.run(`SELECT * FROM users LIMIT ${limits[page]}`, [name]); // want js/sql-injection
  db.run("SELECT * FROM users WHERE name = " + db.escape(name));
  db.run(sql`SELECT * FROM users WHERE name = ${name}`);
  db.run("SELECT * FROM users WHERE name = $1", [name]);
  exec("ls " + name); // want js/shell-command
  spawn(name, { shell: true }); // want js/shell-command
  spawn("ls", [name]);
  eval(req.body.code); // want js/eval
  new Function("return " + name); // want js/eval
  eval("1" + id);
}

// What no request says is somebody's own.
export function own(name: string, text: string) {
  db.run(`SELECT * FROM ${name} WHERE name = '${text}'`);
  exec("ls " + name);
  eval(text);
}

export function conditions(a: any, b: string, list: { tags: string[] }[], scores: number[]) {
  if (a = 5) { // want js/assignment-in-condition
    a.b == 3; // want js/comparison-statement
  }
  let m;
  while ((m = /x/g.exec(b))) list.push(m[0]);
  if (a = b) return;
  if (a === NaN) return; // want js/nan-comparison
  if (a.b === a.b) return; // want js/self-comparison
  if (a.b !== a.b) return;
  for (let i = 0; i < 9; i--) scores.push(i); // want js/loop-direction
  for (let i = 9; i >= 0; i--) scores.push(i);
  if (a === 1) { b.trim(); } else if (a === 2) { b.at(0); } else if (a === 1) { b.at(1); } // want js/repeated-condition
  if (next()) { b.trim(); } else if (next()) { b.at(0); }
  try {
    (list[0]?.tags).join(); // want js/unsafe-optional-chain
    ((list[0]?.tags ?? []) as string[]).join();
  } finally {
    list.map((x) => { return x; });
    return 1; // want js/return-in-finally
  }
}

declare function next(): boolean;
type Chosen<T> = T extends string ? never : T extends number ? "eval(text)" : any;
class Tree extends Base<Tree> {}

export const made = new Promise(async (done) => done(await a)); // want js/async-executor
export const typed = new Promise<Map<string, number>>(async (done) => done(await a)); // want js/async-executor
export const right = new Promise<void>((done) => setTimeout(async () => done(), 1));
