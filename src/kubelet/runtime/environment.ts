/**
 * A container's environment: envFrom, env with references, service variables. Upstream: kubelet_pods.go
 * (makeEnvironmentVariables).
 *
 * Later sources override earlier ones: services, then envFrom, then env. `$(NAME)` refers to variables before it and
 * to services.
 */
import { podNamespace } from '../types/pod-update.ts';
import { getOwn } from '../../api/codec/own-property.ts';
import type { ConfigMap, Container, EnvFromSource, EnvVar, Pod, Secret, Service } from '../../api/gen/core-v1.ts';
import { isReason } from '../../api/status-error.ts';
import { errorMessage } from '../../base/errors.ts';
import type { KubeletEventRecorder } from '../event-reasons.ts';
import { ContainerConfigError } from './container-config-error.ts';
import { ContainerEnvironment, LENGTH_OF_VARIABLE, VARIABLES_PER_TURN } from './container-environment.ts';
import { expand, ExpansionError } from './expansion.ts';
import { podFieldValue, resourceFieldValue, type NodeFacts } from './field-refs.ts';
import { serviceEnvironment } from './service-env.ts';

/** Reads the objects that the environment refers to. Getters reject with a StatusError for a missing object. */
export interface EnvironmentSources {
  getConfigMap(namespace: string, name: string): Promise<ConfigMap>;
  getSecret(namespace: string, name: string): Promise<Secret>;
  /** Services of all namespaces, from an informer. */
  services(): readonly Service[];
  /** Reads a file in a mounted volume of the pod, for fileKeyRef; undefined when it is missing. */
  readVolumeFile(pod: Pod, volumeName: string, path: string): Promise<string | undefined>;
  /** Yields to the event loop. */
  pause(): Promise<void>;
  readonly node: NodeFacts;
  readonly recorder: KubeletEventRecorder;
}

/** The most sources read in one turn. */
const SOURCES_PER_TURN = 100;

interface Context {
  readonly pod: Pod;
  readonly container: Container;
  readonly podIps: readonly string[];
  readonly sources: EnvironmentSources;
  /** Set last; references do not see them. */
  readonly added?: Readonly<Record<string, string>> | undefined;
}

/** The object, or undefined when it is optional and missing. */
async function optional<T>(read: Promise<T>, isOptional: boolean | undefined): Promise<T | undefined> {
  try {
    return await read;
  } catch (error) {
    if (isReason(error, 'NotFound') && isOptional) return undefined;
    throw new ContainerConfigError(errorMessage(error), { cause: error });
  }
}

function decodeSecret(value: string): string {
  return Buffer.from(value, 'base64').toString('utf8');
}

/** Since v1.34 a variable's name may have any printable ASCII character but `=`. */
function isVariableName(name: string): boolean {
  return name !== '' && /^[\x20-\x3c\x3e-\x7e]+$/.test(name);
}

/** Variables of one source of envFrom, before their prefix. */
interface ReadSource {
  readonly prefix: string;
  /** The source's name in events and errors. */
  readonly origin: string;
  readonly values: SourceValues;
}

interface SourceValues {
  readonly entries: readonly (readonly [string, string])[];
  readonly length: number;
}

function sourceValues(data: Readonly<Record<string, string>>, decode: (value: string) => string): SourceValues {
  const entries = Object.entries(data).map(([key, value]) => [key, decode(value)] as const);
  return { entries, length: entries.reduce((sum, [key, value]) => sum + key.length + value.length, 0) };
}

/** Reads all sources. An object that several of them name is read once. */
async function readSources(from: readonly EnvFromSource[], { pod, sources }: Context): Promise<ReadSource[]> {
  const namespace = podNamespace(pod);
  const cache = new Map<object, SourceValues>();
  const read: ReadSource[] = [];
  const add = (
    source: EnvFromSource,
    origin: string,
    data: Record<string, string>,
    decode: (value: string) => string,
  ) => {
    let values = cache.get(data);
    if (values === undefined) cache.set(data, (values = sourceValues(data, decode)));
    read.push({ prefix: source.prefix ?? '', origin, values });
  };
  for (const [at, source] of from.entries()) {
    if (at > 0 && at % SOURCES_PER_TURN === 0) await sources.pause();
    if (source.configMapRef !== undefined) {
      const { name = '', optional: isOptional } = source.configMapRef;
      const map = await optional(sources.getConfigMap(namespace, name), isOptional);
      add(source, `configMap ${namespace}/${name}`, map?.data ?? {}, (value) => value);
    } else if (source.secretRef !== undefined) {
      const { name = '', optional: isOptional } = source.secretRef;
      const secret = await optional(sources.getSecret(namespace, name), isOptional);
      add(source, `secret ${namespace}/${name}`, secret?.data ?? {}, decodeSecret);
    }
  }
  return read;
}

/** Sets variables whose length is already counted. */
async function addSource(
  into: ContainerEnvironment,
  { prefix, origin, values }: ReadSource,
  context: Context,
): Promise<void> {
  const { pod, sources } = context;
  const invalid: string[] = [];
  for (const [at, [key, value]] of values.entries.entries()) {
    if (at % VARIABLES_PER_TURN === VARIABLES_PER_TURN - 1) await sources.pause();
    const name = `${prefix}${key}`;
    if (isVariableName(name)) into.setCounted(name, value);
    else invalid.push(name);
  }
  if (invalid.length === 0) return;
  const keys = invalid.sort().join(', ');
  sources.recorder.event(
    pod,
    'Warning',
    'InvalidEnvironmentVariableNames',
    `Keys [${keys}] from the EnvFrom ${origin} were skipped since they are considered invalid environment variable names.`,
  );
}

async function keyValue(variable: EnvVar, context: Context): Promise<string | undefined> {
  const { pod, sources } = context;
  const namespace = podNamespace(pod);
  const from = variable.valueFrom!;
  if (from.configMapKeyRef !== undefined) {
    const { name = '', key, optional: isOptional } = from.configMapKeyRef;
    const map = await optional(sources.getConfigMap(namespace, name), isOptional);
    const value = getOwn(map?.data ?? {}, key);
    if (value === undefined && !isOptional)
      throw new ContainerConfigError(`couldn't find key ${key} in ConfigMap ${namespace}/${name}`);
    return value;
  }
  const { name = '', key, optional: isOptional } = from.secretKeyRef!;
  const secret = await optional(sources.getSecret(namespace, name), isOptional);
  const value = getOwn(secret?.data ?? {}, key);
  if (value === undefined && !isOptional)
    throw new ContainerConfigError(`couldn't find key ${key} in Secret ${namespace}/${name}`);
  return value === undefined ? undefined : decodeSecret(value);
}

/**
 * The value of a key in an env file: `KEY=value` lines; comments and blank lines are skipped, quotes around the value
 * removed.
 */
function envFileValue(text: string, key: string): string | undefined {
  for (const line of text.split('\n')) {
    const equals = line.indexOf('=');
    if (equals < 0 || line.slice(0, equals).trim() !== key || key.startsWith('#')) continue;
    return line
      .slice(equals + 1)
      .trim()
      .replace(/^(['"])(.*)\1$/, '$2');
  }
  return undefined;
}

async function fileValue(variable: EnvVar, context: Context): Promise<string | undefined> {
  const { volumeName, path, key, optional: isOptional } = variable.valueFrom!.fileKeyRef!;
  const text = await context.sources.readVolumeFile(context.pod, volumeName, path);
  const value = text === undefined ? undefined : envFileValue(text, key);
  if (value === undefined && !isOptional) {
    throw new ContainerConfigError(
      text === undefined
        ? `couldn't find file ${path} in volume ${volumeName}`
        : `environment variable key ${key} not found in file ${path} of volume ${volumeName}`,
    );
  }
  return value;
}

async function referredValue(variable: EnvVar, context: Context): Promise<string | undefined> {
  const from = variable.valueFrom!;
  const {
    pod,
    container,
    podIps,
    sources: { node },
  } = context;
  try {
    if (from.fieldRef !== undefined) return podFieldValue({ selector: from.fieldRef, pod, podIps, node });
    if (from.resourceFieldRef !== undefined)
      return resourceFieldValue({ selector: from.resourceFieldRef, pod, container, node });
  } catch (error) {
    throw new ContainerConfigError(errorMessage(error), { cause: error });
  }
  if (from.configMapKeyRef !== undefined || from.secretKeyRef !== undefined) return keyValue(variable, context);
  if (from.fileKeyRef !== undefined) return fileValue(variable, context);
  throw new ContainerConfigError(`environment variable ${variable.name}: valueFrom names no source`);
}

/** Expands references. @throws ContainerConfigError when the result exceeds what the runtime accepts */
export function expandValue(text: string, lookup: (name: string) => string | undefined): string {
  try {
    return expand(text, lookup);
  } catch (error) {
    if (error instanceof ExpansionError) throw new ContainerConfigError(error.message, { cause: error });
    throw error;
  }
}

/** The whole environment. Rejects with ContainerConfigError when a required object or key is missing. */
export async function makeEnvironment(context: Context): Promise<ContainerEnvironment> {
  const { pod, container, sources, added = {} } = context;
  await sources.pause();
  const seen = {
    services: sources.services(),
    namespace: podNamespace(pod),
    enableServiceLinks: pod.spec?.enableServiceLinks ?? true,
  };
  const result = new ContainerEnvironment(await serviceEnvironment(seen, () => sources.pause()));
  const read = await readSources(container.envFrom ?? [], context);
  for (const { prefix, values } of read)
    result.lengthen(values.length + values.entries.length * (prefix.length + LENGTH_OF_VARIABLE));
  for (const source of read) {
    await sources.pause();
    await addSource(result, source, context);
  }
  const lookup = (name: string): string | undefined => result.get(name);
  for (const variable of container.env ?? []) {
    const value =
      variable.valueFrom === undefined
        ? expandValue(variable.value ?? '', lookup)
        : await referredValue(variable, context);
    if (value !== undefined) result.set(variable.name, value);
  }
  for (const name of Object.keys(added)) result.set(name, added[name]!);
  return result;
}
