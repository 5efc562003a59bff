type Good = { name: string; price: number; tags: string[] };

export function lastTag(tags: string[]): string {
  return tags[tags.length]; // bug: behind the end
}

export function addTag(tags: string[], tag: string): void {
  tags[tags.length] = tag;
}

export function withoutTag(tags: string[], i: number, prices: Record<string, number>): string[] {
  delete prices.old;
  delete tags[i]; // bug: a hole
  return tags;
}

const digits = /\d+/g;
const letters = /[a-z]+/;

export function hasDigits(text: string): boolean {
  return letters.test(text) && digits.test(text); // bug: goes on where it was
}

export function merge(target: any, source: any): any {
  for (const key in source) {
    if (typeof source[key] === 'object') {
      merge(target[key], source[key]);
    } else {
      target[key] = source[key]; // bug: prototype pollution
    }
  }
  return target;
}

export function copy(source: Record<string, string>): Record<string, string> {
  const target: Record<string, string> = {};
  for (const key in source) {
    target[key] = source[key];
  }
  return target;
}

async function load(name: string): Promise<Good> {
  const answer = await fetch('/goods/' + encodeURIComponent(name));
  return answer.json();
}

export async function loadAll(names: string[]): Promise<number> {
  const goods: Promise<Good>[] = names.map((name) => load(name));
  Promise.all(goods); // bug: nobody waits
  await Promise.all(goods);
  return goods.length;
}

export async function loadOrNull(name: string): Promise<Good | null> {
  try {
    return load(name); // bug: catch does not see it
  } catch (error) {
    return null;
  }
}

export async function loadOrNullWell(name: string): Promise<Good | null> {
  try {
    return await load(name);
  } catch (error) {
    return null;
  }
}

export function isCheap(price: number, low: number, high: number): boolean {
  if (low < price && price < high) return true;
  return low < price < high; // bug: compares a truth value
}

export function isMedia(kind: string): boolean {
  if (kind === 'cd' || 'film') return true; // bug: always true
  if (kind !== 'book' || kind !== 'map') return false; // bug: always true
  return kind !== 'book' && kind !== 'map';
}

export function reset(good: Good, price: number): void {
  good.price == price; // bug: nothing is assigned
  good.name = good.name; // bug: itself
  good.price = price;
}

export const christmas = new Date(2026, 12, 24); // bug: January
export const newYear = new Date(2026, 11, 31);

export function clean(good: Good): Good {
  good.name.trim(); // bug: the result is dropped
  good.name.replace('_', ' '); // bug: the result is dropped
  good.name = good.name.trim();
  return good;
}

export function isNew(good: Good): boolean {
  if (good.tags.indexOf('new')) { // bug: -1 is true
    return true;
  }
  return good.tags.indexOf('fresh') >= 0;
}

export function show(element: HTMLElement): void {
  element.innerHTML = decodeURIComponent(location.hash.slice(1)); // bug: cross-site scripting
  element.textContent = location.hash.slice(1);
}
