/** Environment variables of containers. Upstream: apis/core/validation ValidateEnv, ValidateEnvFrom. */
import type { Field } from '../field-error.ts';
import type {
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  ObjectFieldSelector,
  ResourceFieldSelector,
} from '../gen/core-v1.ts';
import { isConfigMapKey, isDns1123Subdomain, isEnvVarName, isQualifiedName } from '../names.ts';
import { compareQuantities, tryParseQuantity } from '../quantity.ts';

/** Fields of a pod that its environment may show. */
export const ENV_FIELD_PATHS = [
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.serviceAccountName',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
] as const;

const RESOURCES = [
  'limits.cpu',
  'limits.ephemeral-storage',
  'limits.memory',
  'requests.cpu',
  'requests.ephemeral-storage',
  'requests.memory',
];

/** A reference to a field of the pod. `paths`: what is supported beside single labels and annotations. */
export function validateFieldRef(reference: ObjectFieldSelector, paths: readonly string[], field: Field): void {
  if ((reference.apiVersion ?? '') === '') return field.at('apiVersion').required();
  if ((reference.fieldPath ?? '') === '') return field.at('fieldPath').required();
  const keyed = /^metadata\.(labels|annotations)\['(.*)'\]$/.exec(reference.fieldPath);
  if (keyed !== null) {
    field.complain(keyed[2]!, isQualifiedName(keyed[1] === 'annotations' ? keyed[2]!.toLowerCase() : keyed[2]!));
  } else if (!paths.includes(reference.fieldPath)) {
    field.at('fieldPath').notSupported(reference.fieldPath, paths.toSorted());
  }
}

/** A reference to a container's resources. */
export function validateResourceFieldRef(
  reference: ResourceFieldSelector,
  needsContainer: boolean,
  field: Field,
): void {
  if (needsContainer && (reference.containerName ?? '') === '') return field.at('containerName').required();
  if ((reference.resource ?? '') === '') return field.at('resource').required();
  if (!RESOURCES.includes(reference.resource) && !/^(limits|requests)\.hugepages-/.test(reference.resource)) {
    field.at('resource').notSupported(reference.resource, RESOURCES);
  }
  const divisor = reference.divisor;
  if (divisor === undefined || tryParseQuantity(divisor) === undefined || compareQuantities(divisor, '0') === 0) return;
  const allowed = reference.resource.endsWith('cpu')
    ? ['1m', '1']
    : ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];
  if (!allowed.some((unit) => compareQuantities(unit, divisor) === 0)) {
    field
      .at('divisor')
      .invalid(
        reference.resource,
        reference.resource.endsWith('cpu')
          ? "only divisor's values 1m and 1 are supported with the cpu resource"
          : "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the memory resource",
      );
  }
}

function validateKey(selector: { name?: string; key: string }, field: Field): void {
  if ((selector.name ?? '') !== '') field.at('name').complain(selector.name, isDns1123Subdomain(selector.name!));
  if ((selector.key ?? '') === '') field.at('key').required();
  else field.at('key').complain(selector.key, isConfigMapKey(selector.key));
}

function validateSource(source: EnvVarSource, value: string, field: Field): void {
  const given = [
    source.fieldRef,
    source.resourceFieldRef,
    source.configMapKeyRef,
    source.secretKeyRef,
    source.fileKeyRef,
  ].filter((one) => one !== undefined).length;
  if (source.fieldRef !== undefined) validateFieldRef(source.fieldRef, ENV_FIELD_PATHS, field.at('fieldRef'));
  if (source.resourceFieldRef !== undefined)
    validateResourceFieldRef(source.resourceFieldRef, false, field.at('resourceFieldRef'));
  if (source.configMapKeyRef !== undefined) validateKey(source.configMapKeyRef, field.at('configMapKeyRef'));
  if (source.secretKeyRef !== undefined) validateKey(source.secretKeyRef, field.at('secretKeyRef'));
  if (source.fileKeyRef !== undefined) {
    for (const name of ['key', 'path', 'volumeName'] as const)
      if ((source.fileKeyRef[name] ?? '') === '') field.at('fileKeyRef').at(name).required();
  }
  if (given === 0)
    field.invalid('', 'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`');
  else if (value !== '') field.invalid('', 'may not be specified when `value` is not empty');
  else if (given > 1) field.invalid('', 'may not have more than one field specified at a time');
}

/** Variables of a container. */
export function validateEnv(variables: readonly EnvVar[] | undefined, field: Field): void {
  for (const [index, variable] of (variables ?? []).entries()) {
    const place = field.item(index);
    if ((variable.name ?? '') === '') place.at('name').required();
    else place.at('name').complain(variable.name, isEnvVarName(variable.name));
    if (variable.valueFrom !== undefined)
      validateSource(variable.valueFrom, variable.value ?? '', place.at('valueFrom'));
  }
}

/** Whole config maps and secrets as variables. */
export function validateEnvFrom(sources: readonly EnvFromSource[] | undefined, field: Field): void {
  for (const [index, source] of (sources ?? []).entries()) {
    const place = field.item(index);
    if ((source.prefix ?? '') !== '') place.at('prefix').complain(source.prefix, isEnvVarName(source.prefix!));
    const given = [source.configMapRef, source.secretRef].filter((one) => one !== undefined).length;
    if (given === 0) place.invalid('', 'must specify one of: `configMapRef` or `secretRef`');
    else if (given > 1) place.invalid('', 'may not have more than one field specified at a time');
    for (const name of ['configMapRef', 'secretRef'] as const) {
      const reference = source[name];
      if (reference === undefined) continue;
      if ((reference.name ?? '') === '') place.at(name).at('name').required();
      else place.at(name).at('name').complain(reference.name, isDns1123Subdomain(reference.name!));
    }
  }
}
