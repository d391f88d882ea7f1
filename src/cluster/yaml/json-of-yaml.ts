/** The JSON of a client's YAML, as the thread hands it to the event loop. */
import { stringifyJson } from '../../api/codec/json.ts';
import { parseFirstYaml } from '../../api/codec/yaml.ts';
import { MAX_JSON_LENGTH } from './max-json-length.ts';

/** Longer JSON is cut one character beyond the limit: the loop would copy hundreds of megabytes in one turn only to refuse them. */
export function jsonOfYaml(text: string): string {
  return stringifyJson(parseFirstYaml(text)).slice(0, MAX_JSON_LENGTH + 1);
}
