// A file for the examples of the families that scan code.
export function count(amount: unknown): number {
  if (typeof amount == "number") {
    return amount;
  }
  if (amount === NaN) {
    return 0;
  }
  const [first] = String(amount).split(",");
  var empty = first.trim() === "";
  return empty ? 0 : 1;
}
