/**
 * Query options of log, exec, attach and portforward, and their translation for kubelets. Upstream:
 * registry/core/pod/strategy.go (LogLocation, ExecLocation, AttachLocation, PortForwardLocation), validation of
 * PodLogOptions.
 */
import type { Stored } from '../../api/object.ts';
import type { Pod } from '../../api/gen/core-v1.ts';
import { badRequest, invalid, type FieldCause } from '../../api/status-error.ts';
import { parseGoBoolean } from '../../base/go-boolean.ts';

/** The named container, or the only one. Throws upstream's 400. */
export function containerOf(pod: Stored<Pod>, wanted: string): string {
  const name = pod.metadata.name;
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod.spec ?? {};
  if (wanted !== '') {
    if ([...containers, ...initContainers, ...ephemeralContainers].some((container) => container.name === wanted))
      return wanted;
    throw badRequest(`container ${wanted} is not valid for pod ${name}`);
  }
  if (containers.length === 1) return containers[0]!.name;
  if (containers.length === 0) throw badRequest(`a container name must be specified for pod ${name}`);
  const names = (list: readonly { name: string }[]): string => list.map((container) => container.name).join(' ');
  const others = initContainers.length === 0 ? '' : ` or one of the init containers: [${names(initContainers)}]`;
  throw badRequest(
    `a container name must be specified for pod ${name}, choose one of: [${names(containers)}]${others}`,
  );
}

/** Go's conversion of a boolean in a query; absent is false, an empty value true. */
function flag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  if (value === null) return false;
  const parsed = value === '' ? true : parseGoBoolean(value);
  if (parsed === undefined) throw badRequest(`strconv.ParseBool: parsing "${value}": invalid syntax`);
  return parsed;
}

function integer(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^[+-]?\d+$/.test(value)) throw badRequest(`strconv.ParseInt: parsing "${value}": invalid syntax`);
  return Number(value);
}

/** The query for `/containerLogs`. Throws 400 for what cannot be parsed, 422 for invalid options. */
export function logQuery(query: URLSearchParams, podName: string): string {
  const kubelet = new URLSearchParams();
  for (const name of ['follow', 'previous', 'timestamps']) if (flag(query, name)) kubelet.set(name, 'true');
  const causes: FieldCause[] = [];
  const add = (name: string, least: number, text: string): void => {
    const value = integer(query, name);
    if (value === undefined) return;
    if (value < least)
      causes.push({ reason: 'FieldValueInvalid', field: name, text: `Invalid value: ${value}: ${text}` });
    else kubelet.set(name, String(value));
  };
  add('tailLines', 0, 'must be greater than or equal to 0');
  add('limitBytes', 1, 'must be greater than 0');
  const sinceTime = query.get('sinceTime');
  if (sinceTime && query.has('sinceSeconds')) {
    causes.push({
      reason: 'FieldValueForbidden',
      field: 'sinceSeconds',
      text: 'Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
    });
  } else {
    add('sinceSeconds', 1, 'must be greater than 0');
    if (sinceTime) kubelet.set('sinceTime', sinceTime);
  }
  const stream = query.get('stream');
  if (stream !== null && !['All', 'Stdout', 'Stderr'].includes(stream)) {
    causes.push({
      reason: 'FieldValueNotSupported',
      field: 'stream',
      text: `Unsupported value: "${stream}": supported values: "All", "Stderr", "Stdout"`,
    });
  } else if (stream !== null && stream !== 'All') {
    if (query.has('tailLines'))
      causes.push({
        reason: 'FieldValueForbidden',
        field: 'tailLines',
        text: 'Forbidden: `tailLines` and specific `stream` are mutually exclusive for now',
      });
    kubelet.set('stream', stream);
  }
  if (causes.length > 0) throw invalid({ group: '', kind: 'PodLogOptions' }, podName, causes);
  return kubelet.toString();
}

/** The streams of an exec or attach. Throws upstream's 400. */
export function streamOptions(query: URLSearchParams): {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
} {
  // Defaults for a call that names no output.
  const output = (name: string): boolean => !query.has(name) || flag(query, name);
  return { stdin: flag(query, 'stdin'), stdout: output('stdout'), stderr: output('stderr'), tty: flag(query, 'tty') };
}

/** The query for `/exec` and `/attach`. Throws upstream's 400. */
export function streamQuery(query: URLSearchParams, subresource: 'exec' | 'attach'): string {
  const kubelet = new URLSearchParams();
  const { stdin, stdout, stderr, tty } = streamOptions(query);
  const command = query.getAll('command');
  if (!stdin && !stdout && !stderr) throw badRequest('you must specify at least 1 of stdin, stdout, stderr');
  if (subresource === 'exec' && command.length === 0) throw badRequest('you must specify a command');
  if (stdin) kubelet.set('input', '1');
  if (stdout) kubelet.set('output', '1');
  if (stderr) kubelet.set('error', '1');
  if (tty) kubelet.set('tty', '1');
  if (subresource === 'exec') for (const part of command) kubelet.append('command', part);
  return kubelet.toString();
}

/** The query for `/portForward`: the ports, which WebSocket clients name here. */
export function portForwardQuery(query: URLSearchParams): string {
  const kubelet = new URLSearchParams();
  for (const text of query.getAll('ports').flatMap((ports) => ports.split(','))) {
    const port = Number(text);
    if (!Number.isInteger(port) || port < 1 || port > 65_535)
      throw badRequest(`strconv.ParseUint: parsing "${text}": invalid syntax`);
    kubelet.append('port', text);
  }
  return kubelet.toString();
}
