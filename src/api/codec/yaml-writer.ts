/** Writes objects as YAML with the library `yaml`, in kubectl's format. */
import { stringify } from 'yaml';
import { isObject, type JsonObject, setOwn } from './own-property.ts';

/** YAML text with sorted keys, as upstream writes it. */
export function stringifyYaml(value: unknown): string {
  if (!isObject(value)) return write(value);
  // Items are written one by one, so that a list of thousands needs no tree of all its nodes.
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  if (entries.length === 0) return write({});
  return entries.map(([key, item]) => writeEntry(key, item)).join('');
}

function writeEntry(key: string, item: unknown): string {
  const entry: JsonObject = {};
  if (!Array.isArray(item) || item.length === 0) {
    setOwn(entry, key, item);
    return write(entry);
  }
  setOwn(entry, key, null);
  const text = write(entry);
  if (text.startsWith('? ')) {
    setOwn(entry, key, item); // lists below a long key have another format
    return write(entry);
  }
  return text.replace(/ null\n$/, '\n') + item.map((one) => write([one])).join('');
}

function write(value: unknown): string {
  return stringify(value, {
    version: '1.1',
    sortMapEntries: true,
    lineWidth: 0,
    indentSeq: false,
    aliasDuplicateObjects: false,
  });
}
