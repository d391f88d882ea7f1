/** Validation of dynamic kubelet configuration, of which only the form is checked. Upstream: validateNodeConfigSourceSpec. */
import type { Field } from '../field-error.ts';
import type { ConfigMapNodeConfigSource, NodeConfigSource } from '../gen/core-v1.ts';
import { isConfigMapKey, isDns1123Label, isDns1123Subdomain } from '../names.ts';

/** Validates a source. `inUse`: a source in the status, which also names the version of the config map. */
export function validateConfigSource(source: NodeConfigSource, inUse: boolean, field: Field): void {
  if (source.configMap === undefined) return field.invalid(source, 'exactly one reference subfield must be non-nil');
  const place = field.at('configMap');
  for (const name of ['uid', 'resourceVersion'] as const) {
    const isSet = (source.configMap[name] ?? '') !== '';
    if (inUse && !isSet) place.at(name).required();
    if (!inUse && isSet) place.at(name).forbidden(`${name} must not be set in spec`);
  }
  validateNames(source.configMap, place);
}

function validateNames(source: ConfigMapNodeConfigSource, field: Field): void {
  const checks = [
    ['namespace', isDns1123Label],
    ['name', isDns1123Subdomain],
    ['kubeletConfigKey', isConfigMapKey],
  ] as const;
  for (const [name, check] of checks) {
    const text = source[name] ?? '';
    if (text === '') field.at(name).required();
    else field.at(name).complain(text, check(text));
  }
}
