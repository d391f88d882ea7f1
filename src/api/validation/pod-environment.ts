/** Validation of containers' environment variables. Upstream: apis/core/validation ValidateEnv, ValidateEnvFrom. */
import type { Field } from '../field-error.ts';
import type {
  Container,
  EnvFromSource,
  EnvVar,
  EnvVarSource,
  EphemeralContainer,
  FileKeySelector,
  ObjectFieldSelector,
  PodSpec,
  ResourceFieldSelector,
} from '../gen/core-v1.ts';
import { isConfigMapKey, isDns1123Label, isDns1123Subdomain, isEnvVarName, isQualifiedName } from '../names.ts';
import { isZeroQuantity, tryParseQuantity } from '../quantity.ts';
import { containersOf, someContainer } from './pod-os.ts';
import { validatePathNoBacksteps } from './volume-sources.ts';

/** Fields of a pod that environment variables may refer to. */
const ENV_FIELD_PATHS = [
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

/** Fields that upstream can read for any use of the downward API. Upstream: ConvertDownwardAPIFieldLabel. */
const READABLE: ReadonlySet<string> = new Set([
  'metadata.annotations',
  'metadata.labels',
  'metadata.name',
  'metadata.namespace',
  'metadata.uid',
  'spec.nodeName',
  'spec.restartPolicy',
  'spec.serviceAccountName',
  'spec.schedulerName',
  'spec.hostname',
  'status.phase',
  'status.hostIP',
  'status.hostIPs',
  'status.podIP',
  'status.podIPs',
]);

/** Validates a reference to a field of the pod. `paths`: the supported fields besides single labels and annotations. */
export function validateFieldRef(reference: ObjectFieldSelector, paths: readonly string[], field: Field): void {
  const { apiVersion = '', fieldPath = '' } = reference;
  if (apiVersion === '') return field.at('apiVersion').required();
  if (fieldPath === '') return field.at('fieldPath').required();
  const place = field.at('fieldPath');
  const conversion = (problem: string) => place.invalid(fieldPath, `error converting fieldPath: ${problem}`);
  if (apiVersion !== 'v1') return conversion(`unsupported pod version: ${apiVersion}`);
  const keyed = /^([^[]*)\['(.*)'\]$/.exec(fieldPath);
  if (keyed !== null) {
    const [, path = '', key = ''] = keyed;
    if (path === 'metadata.annotations') field.complain(key.toLowerCase(), isQualifiedName(key.toLowerCase()));
    else if (path === 'metadata.labels') field.complain(key, isQualifiedName(key));
    else conversion(`field label does not support subscript: ${fieldPath}`);
    return;
  }
  const path = fieldPath === 'spec.host' ? 'spec.nodeName' : fieldPath;
  if (!READABLE.has(path)) return conversion(`field label not supported: ${fieldPath}`);
  if (!paths.includes(path)) place.notSupported(path, paths.toSorted());
}

/** Validates a reference to a container's resources. */
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
  validateDivisor(reference.resource, reference.divisor, field.at('divisor'));
}

const AMOUNTS = ['1', '1k', '1M', '1G', '1T', '1P', '1E', '1Ki', '1Mi', '1Gi', '1Ti', '1Pi', '1Ei'];

/** Resources, their valid divisors, and upstream's name for them. */
const DIVISORS: readonly (readonly [RegExp, readonly string[], string])[] = [
  [/\.cpu$/, ['1m', '1'], 'cpu'],
  [/\.memory$/, AMOUNTS, 'memory'],
  [/\.ephemeral-storage$/, AMOUNTS, 'local ephemeral storage'],
  [/^(limits|requests)\.hugepages-/, AMOUNTS, 'hugepages'],
];

function validateDivisor(resource: string, divisor: string | undefined, field: Field): void {
  if (divisor === undefined || tryParseQuantity(divisor) === undefined || isZeroQuantity(divisor)) return;
  const [, units, name] = DIVISORS.find(([pattern]) => pattern.test(resource)) ?? [];
  if (units === undefined || units.includes(divisor)) return;
  const listed = name === 'cpu' ? '1m and 1' : AMOUNTS.join(', ');
  field.invalid(resource, `only divisor's values ${listed} are supported with the ${name} resource`);
}

function validateKey(selector: { name?: string; key: string }, field: Field): void {
  field.at('name').complain(selector.name ?? '', isDns1123Subdomain(selector.name ?? ''));
  if ((selector.key ?? '') === '') field.at('key').required();
  else field.at('key').complain(selector.key, isConfigMapKey(selector.key));
}

function validateFileKey({ key = '', volumeName = '', path = '' }: FileKeySelector, field: Field): void {
  if (key === '') field.at('key').required();
  else field.at('key').complain(key, isEnvVarName(key));
  if (volumeName === '') field.at('volumeName').required();
  else field.at('volumeName').complain(volumeName, isDns1123Label(volumeName));
  if (path === '') field.at('path').required();
  else validatePathNoBacksteps(path, field.at('path'));
}

/** `fileKeyRef` must refer to an emptyDir volume of the pod. */
export function validateFileKeyVolumes(spec: PodSpec, field: Field): void {
  if (!someContainer(spec, readsFiles)) return;
  const volumes = new Map((spec.volumes ?? []).map((volume) => [volume.name, volume]));
  for (const [container, place] of containersOf(spec, field))
    for (const [index, { valueFrom }] of (container.env ?? []).entries()) {
      if (valueFrom?.fileKeyRef === undefined) continue;
      const name = valueFrom.fileKeyRef.volumeName ?? '';
      const at = place.at('env').item(index).at('valueFrom').at('fileKeyRef').at('volumeName');
      const volume = volumes.get(name);
      if (volume === undefined) at.notFound(name);
      else if (volume.emptyDir === undefined) at.invalid(name, 'referenced volume must be of type emptyDir');
    }
}

function readsFiles({ env }: Container | EphemeralContainer): boolean {
  return env?.some(({ valueFrom }) => valueFrom?.fileKeyRef !== undefined) === true;
}

function validateSource(source: EnvVarSource, value: string, field: Field): void {
  const count = [
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
  if (source.fileKeyRef !== undefined) validateFileKey(source.fileKeyRef, field.at('fileKeyRef'));
  if (count === 0)
    field.invalid(
      '',
      'must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
    );
  else if (value !== '') field.invalid('', 'may not be specified when `value` is not empty');
  else if (count > 1) field.invalid('', 'may not have more than one field specified at a time');
}

export function validateEnv(variables: readonly EnvVar[] | undefined, field: Field): void {
  for (const [index, variable] of (variables ?? []).entries()) {
    const place = field.item(index);
    if ((variable.name ?? '') === '') place.at('name').required();
    else place.at('name').complain(variable.name, isEnvVarName(variable.name));
    if (variable.valueFrom !== undefined)
      validateSource(variable.valueFrom, variable.value ?? '', place.at('valueFrom'));
  }
}

/** Validates config maps and secrets whose keys all become variables. */
export function validateEnvFrom(sources: readonly EnvFromSource[] | undefined, field: Field): void {
  for (const [index, source] of (sources ?? []).entries()) {
    const place = field.item(index);
    if ((source.prefix ?? '') !== '') place.at('prefix').complain(source.prefix, isEnvVarName(source.prefix!));
    const count = [source.configMapRef, source.secretRef].filter((one) => one !== undefined).length;
    for (const name of ['configMapRef', 'secretRef'] as const) {
      const reference = source[name];
      if (reference === undefined) continue;
      if ((reference.name ?? '') === '') place.at(name).at('name').required();
      else place.at(name).at('name').complain(reference.name, isDns1123Subdomain(reference.name!));
    }
    // As upstream, these errors are reported at the list.
    if (count === 0) field.invalid('', 'must specify one of: `configMapRef` or `secretRef`');
    else if (count > 1) field.invalid('', 'may not have more than one field specified at a time');
  }
}
