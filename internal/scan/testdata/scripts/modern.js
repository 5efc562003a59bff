import x from "x";
var known = "known"; // want js/var-declaration
var changed = 1; // want js/var-declaration
changed += 1;
export const text = "a" + known + "b"; // want js/string-concatenation
export const there = known.indexOf("a") !== -1; // want js/index-of
export const copy = Object.assign({}, x); // want js/object-assign
export const more = { ...copy };
export function f(options) {
  var taken = 1; // want js/var-declaration
  ({ b: taken } = options);
  return taken;
}
import { late } from "./late"; // want js/late-import
export const last = late + changed;
