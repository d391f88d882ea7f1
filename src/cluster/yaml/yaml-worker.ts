/** The thread that reads and writes the YAML of clients. Its texts are YAML on one side and JSON on the other. */
import { parseJson, stringifyJson } from '../../api/codec/json.ts';
import { stringifyYaml } from '../../api/codec/yaml-writer.ts';
import { parseFirstYaml } from '../../api/codec/yaml.ts';
import { serveTexts } from '../../platform/node/text-server.ts';

serveTexts({
  parse: (text) => stringifyJson(parseFirstYaml(text)),
  stringify: (text) => stringifyYaml(parseJson(text).value),
});
