/** Values as failures show them. Upstream: Go's %v of cel-go's values. */
import { mapEntries, isMapValue, Uint } from './values.ts';

/** `foo`, `5`, `[1, 2]`. */
export function valueText(value: unknown): string {
  if (value instanceof Uint) return String(value.value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  if (isMapValue(value))
    return `{${[...mapEntries(value)].map(([key, item]) => `${valueText(key)}: ${valueText(item)}`).join(', ')}}`;
  return String(value);
}
