import * as path from "path";
import unused from "unused"; // want js/unused-import
import { a, b } from "./letters"; // want js/unused-import

export function shapes(x: any) {
  var plain = 1; // want js/var-declaration
  var changed = 2; // want js/var-declaration
  changed = plain;
  for (var i = 0; i < 3; i++) changed += i;
  return path.join(String(changed + a), x);
}
