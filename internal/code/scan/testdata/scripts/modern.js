import x from "x";
var known = "known"; // want js/var-declaration
var changed = 1; // want js/var-declaration
changed += 1;
export const copy = () => [x, known];
export function f(options) {
  var taken = 1; // want js/var-declaration
  ({ b: taken } = options);
  return taken;
}
import { late } from "late"; // want js/late-import
export const last = late + changed;
