/** Formats numbers for texts. */
const numbers = new Intl.NumberFormat('en');

export function numberText(value: number): string {
  return numbers.format(value);
}

export function count(value: number, noun: string): string {
  return `${numberText(value)} ${noun}${value === 1 ? '' : 's'}`;
}
