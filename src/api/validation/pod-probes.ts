/** Validation of probes and lifecycle handlers. Upstream: apis/core/validation validateProbe, validateHandler. */
import { type Int64 } from '../int64.ts';
import type { Field } from '../field-error.ts';
import type { HTTPGetAction, Lifecycle, LifecycleHandler, Probe, TCPSocketAction } from '../gen/core-v1.ts';
import { isHttpHeaderName, isPortNumber } from '../value-formats.ts';
import { validateNonnegative, validatePortNumOrName } from './common.ts';

function validateHttpGet(action: HTTPGetAction, field: Field): void {
  if ((action.path ?? '') === '') field.at('path').required();
  validatePortNumOrName(action.port ?? 0, field.at('port'));
  if (action.scheme !== 'HTTP' && action.scheme !== 'HTTPS')
    field.at('scheme').notSupported(action.scheme ?? '', ['HTTP', 'HTTPS']);
  for (const header of action.httpHeaders ?? [])
    field.at('httpHeaders').complain(header.name, isHttpHeaderName(header.name));
}

function validateTcpSocket(action: TCPSocketAction, field: Field): void {
  validatePortNumOrName(action.port ?? 0, field.at('port'));
}

interface Handlers extends LifecycleHandler {
  grpc?: Probe['grpc'];
}

function validateHandler(handler: Handlers, graceSeconds: Int64, field: Field): void {
  let count = 0;
  const next = (name: string): Field | undefined => {
    if (count++ === 0) return field.at(name);
    field.at(name).forbidden('may not specify more than 1 handler type');
    return undefined;
  };
  if (handler.exec !== undefined) {
    const place = next('exec');
    if (place !== undefined && (handler.exec.command ?? []).length === 0) place.at('command').required();
  }
  if (handler.httpGet !== undefined) {
    const place = next('httpGet');
    if (place !== undefined) validateHttpGet(handler.httpGet, place);
  }
  if (handler.tcpSocket !== undefined) {
    const place = next('tcpSocket');
    if (place !== undefined) validateTcpSocket(handler.tcpSocket, place);
  }
  if (handler.grpc !== undefined) {
    const place = next('grpc');
    if (place !== undefined) place.at('port').complain(handler.grpc.port, isPortNumber(handler.grpc.port));
  }
  if (handler.sleep !== undefined) {
    const place = next('sleep');
    const { seconds } = handler.sleep;
    if (place !== undefined && (seconds < 0 || seconds > graceSeconds))
      place.invalid(seconds, `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`);
  }
  if (count === 0) field.required('must specify a handler type');
}

/** The kind of a probe, on which some rules depend. */
export type ProbeKind = 'livenessProbe' | 'readinessProbe' | 'startupProbe';

export function validateProbe(probe: Probe | undefined, kind: ProbeKind, field: Field): void {
  if (probe === undefined) return;
  validateHandler(probe, 0, field);
  for (const name of [
    'initialDelaySeconds',
    'timeoutSeconds',
    'periodSeconds',
    'successThreshold',
    'failureThreshold',
  ] as const) {
    validateNonnegative(probe[name], field.at(name));
  }
  const grace = probe.terminationGracePeriodSeconds;
  if (grace !== undefined && grace <= 0)
    field.at('terminationGracePeriodSeconds').invalid(grace, 'must be greater than 0');
  if (kind === 'readinessProbe') {
    if (grace !== undefined)
      field.at('terminationGracePeriodSeconds').invalid(grace, 'must not be set for readinessProbes');
  } else if ((probe.successThreshold ?? 1) !== 1) {
    field.at('successThreshold').invalid(probe.successThreshold, 'must be 1');
  }
}

const realTime = Array.from({ length: 15 }, (_, at) => `SIGRTMIN+${at + 1}`);
const realTimeFromTop = Array.from({ length: 14 }, (_, at) => `SIGRTMAX-${at + 1}`);
/** Sorted, as upstream's set prints them. */
const linuxSignals = [
  ...'ABRT ALRM BUS CHLD CLD CONT FPE HUP ILL INT IO IOT KILL PIPE POLL PROF PWR QUIT SEGV STKFLT STOP SYS TERM TRAP'.split(
    ' ',
  ),
  ...'TSTP TTIN TTOU URG USR1 USR2 VTALRM WINCH XCPU XFSZ RTMIN RTMAX'.split(' '),
]
  .map((name) => `SIG${name}`)
  .concat(realTime, realTimeFromTop)
  .toSorted();
const stopSignals: Readonly<Record<string, readonly string[]>> = {
  linux: linuxSignals,
  windows: ['SIGKILL', 'SIGTERM'],
};

/** The fields of the pod that handlers are validated against. */
export interface HandlerScope {
  readonly graceSeconds: Int64;
  readonly os: string | undefined;
}

/** Validates postStart, preStop and stopSignal. */
export function validateLifecycle(lifecycle: Lifecycle | undefined, scope: HandlerScope, field: Field): void {
  if (lifecycle === undefined) return;
  const { postStart, preStop, stopSignal } = lifecycle;
  if (postStart !== undefined) validateHandler(postStart, scope.graceSeconds, field.at('postStart'));
  if (preStop !== undefined) validateHandler(preStop, scope.graceSeconds, field.at('preStop'));
  if (stopSignal === undefined) return;
  const place = field.at('stopSignal');
  if (scope.os === undefined) place.forbidden('may not be set for containers with empty `spec.os.name`');
  else if (stopSignals[scope.os]?.includes(stopSignal) === false)
    place.notSupported(stopSignal, stopSignals[scope.os]!);
}
