/**
 * Reads and writes YAML of clients. JSON is read by the JSON parser and short YAML on the event loop; a codec chosen by the
 * server reads longer YAML.
 */
import { parseJson } from './json.ts';
import { JsonSyntaxError, type ParsedJson } from './json-parser.ts';
import { checkParts, parseClientJson, scanJson } from './parts.ts';

/** Reads and writes YAML. The error that `parse` rejects with for invalid text is named YamlSyntaxError. */
export interface YamlCodec {
  parse(text: string): Promise<ParsedJson>;
  stringify(value: unknown): Promise<string>;
  /** The YAML text of a value that is already JSON text. */
  fromJson(json: string): Promise<string>;
}

/** Parsing a text of this length takes a few milliseconds at most, whatever its content. */
const SHORT_LENGTH = 1024;

/** A codec that runs on the event loop and loads the YAML library at the first call. */
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

/** Reads a document with a YAML media type. Rejects with YamlSyntaxError. */
export async function readYaml(text: string, codec: YamlCodec = yamlOnLoop): Promise<ParsedJson> {
  const json = parseAsJson(text);
  if (json !== undefined) return json;
  const parsed = await (text.length <= SHORT_LENGTH ? yamlOnLoop : codec).parse(text);
  checkParts(parsed.value, text.length);
  return parsed;
}

const JSON_START = /^\s*[{[]/;

/** Undefined for text that is not JSON, and for duplicate keys, whose error texts in YAML differ. */
function parseAsJson(text: string): ParsedJson | undefined {
  if (!JSON_START.test(text) || scanJson(text)) return undefined;
  try {
    JSON.parse(text); // `parseJson` is slow to describe an error
    const parsed = parseClientJson(text);
    return parsed.duplicates.length === 0 ? parsed : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
