/** YAML of clients: JSON by the JSON parser, little YAML on the loop, the rest wherever the server wants it read. */
import { parseJson } from './json.ts';
import { JsonSyntaxError, type ParsedJson } from './json-parser.ts';
import { checkParts, parseClientJson, scanJson } from './parts.ts';

/** Reads and writes YAML. What `parse` rejects with for bad text is named YamlSyntaxError. */
export interface YamlCodec {
  parse(text: string): Promise<ParsedJson>;
  stringify(value: unknown): Promise<string>;
  /** The same of a value that is JSON text already. */
  fromJson(json: string): Promise<string>;
}

/** A text of this length takes the parser a few milliseconds at most, whatever it holds. */
const SHORT_LENGTH = 1024;

/** Works on the loop; loads the YAML library with the first call. */
export const yamlOnLoop: YamlCodec = {
  async parse(text) {
    const { parseFirstYaml } = await import('./yaml.ts');
    return parseFirstYaml(text);
  },
  async stringify(value) {
    const { stringifyYaml } = await import('./yaml-writer.ts');
    return stringifyYaml(value);
  },
  async fromJson(json) {
    const { stringifyYaml } = await import('./yaml-writer.ts');
    return stringifyYaml(parseJson(json).value);
  },
};

/** Reads a document that a client calls YAML. Rejects with YamlSyntaxError. */
export async function readYaml(text: string, codec: YamlCodec = yamlOnLoop): Promise<ParsedJson> {
  const json = parseAsJson(text);
  if (json !== undefined) return json;
  const parsed = await (text.length <= SHORT_LENGTH ? yamlOnLoop : codec).parse(text);
  checkParts(parsed.value, text.length);
  return parsed;
}

const JSON_START = /^\s*[{[]/;

/** Undefined for what is no JSON, and for duplicate keys: YAML has texts of its own for them. */
function parseAsJson(text: string): ParsedJson | undefined {
  if (!JSON_START.test(text) || scanJson(text)) return undefined;
  try {
    JSON.parse(text); // `parseJson` takes long to say what is wrong
    const parsed = parseClientJson(text);
    return parsed.duplicates.length === 0 ? parsed : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
