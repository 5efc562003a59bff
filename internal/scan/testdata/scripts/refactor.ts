import * as path from "path";
import unused from "unused"; // want js/unused-import
import { a, b } from "./letters"; // want js/unused-import

export interface Empty {}
interface UserInterface {
  name: string;
}

export function shapes(x: any, user: UserInterface) { // want js/explicit-any
  var plain = 1; // want js/var-declaration
  var changed = 2; // want js/var-declaration
  changed = plain;
  const text = "Hello " + user.name + "!"; // want js/string-concatenation
  const nested = x ? 1 : changed ? 2 : 3; // want js/nested-ternary
  if (x && text && nested && plain && changed) {
    console.log(text);
  }
  const yes = x ? true : false; // want js/boolean-ternary
  if (yes === true) return x;
  const there = text.indexOf("a") !== -1; // want js/index-of
  const copy = Object.assign({}, user); // want js/object-assign
  const forced = copy as unknown as string; // want js/double-assertion
  const q = path.join(forced);
  // TODO: say more // want js/todo-comment
  return nested * 37 + Number(there) + q.length;
}

// const old = compute();
// old.run();
// if (old) {
export const last = 1; // want-3 js/commented-out-code
export const double = (n: number) => shape(n);

export function clickHandler() {
  return fetch("/").then((r) => r.json()).then((j) => j.name);
}

function shape(n: number) {
  return n + a;
}

import { late } from "./late"; // want js/late-import
export const many = ["repeated text", "repeated text", "repeated text", "repeated text", late];
export default function tooMany(o: number, p: number, r: number, s: number, t: number, u: number) { // want js/long-parameter-list
  return o + p + r + s + t + u;
}

type Which<T> = T extends string ? true : false;
type Nested<T> = T extends string ? never : T extends number ? T : null;
