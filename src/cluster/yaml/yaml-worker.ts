/** The thread that reads and writes the YAML of clients. Its texts are YAML on one side and JSON on the other. */
import { parseJson } from '../../api/codec/json.ts';
import { stringifyYaml } from '../../api/codec/yaml-writer.ts';
import { serveTexts } from '../../platform/node/text-server.ts';
import { jsonOfYaml } from './json-of-yaml.ts';

serveTexts({
  parse: jsonOfYaml,
  stringify: (text) => stringifyYaml(parseJson(text).value),
});
