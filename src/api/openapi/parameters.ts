// Query and path parameters of operations. Upstream: the options types of apimachinery and core/v1, in kube-openapi's form.

/** A path or query parameter. */
export interface ParameterFact {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly type: 'string' | 'integer' | 'boolean';
  readonly description: string;
}

const query = (type: ParameterFact['type'], name: string, description: string): ParameterFact => ({
  name,
  in: 'query',
  type,
  description,
});
const text = (name: string, description: string): ParameterFact => query('string', name, description);
const flag = (name: string, description: string): ParameterFact => query('boolean', name, description);
const whole = (name: string, description: string): ParameterFact => query('integer', name, description);

export function pathParameter(name: string, description: string): ParameterFact {
  return { name, in: 'path', type: 'string', description };
}

/** A parameter of all operations that do not connect. */
export const prettyParameter = text('pretty', "If 'true', the output is indented.");

const dryRun = text('dryRun', "'All' runs every stage of the request but stores nothing.");
const allowWatchBookmarks = flag('allowWatchBookmarks', 'Ask for BOOKMARK events.');
const watch = flag('watch', 'Stream changes instead of listing.');

const selection: readonly ParameterFact[] = [
  text('continue', 'Token of the page to go on from.'),
  text('fieldSelector', 'Restricts the objects by their fields.'),
  text('labelSelector', 'Restricts the objects by their labels.'),
  whole('limit', 'Most objects to return in one page.'),
  text('resourceVersion', 'Revision the answer must be at or after.'),
  text('resourceVersionMatch', 'How resourceVersion is meant: Exact or NotOlderThan.'),
  flag('sendInitialEvents', 'Begin the watch with the state as ADDED events.'),
  text('shardSelector', 'Restricts the objects to a shard. Alpha upstream and without effect here.'),
  whole('timeoutSeconds', 'End the request after this time.'),
];

export const listParameters: readonly ParameterFact[] = [allowWatchBookmarks, ...selection, watch];

/** Query parameters of creations and updates; patches also have `force`. */
export const writeParameters: readonly ParameterFact[] = [
  dryRun,
  text('fieldManager', 'Name under which the changed fields are recorded as owned.'),
  text('fieldValidation', "What to do about unknown and duplicate fields: 'Ignore', 'Warn' or 'Strict'."),
];

export const patchParameters: readonly ParameterFact[] = [
  ...writeParameters,
  flag('force', 'Take over fields other appliers own. Only for apply patches.'),
];

/** Query parameters of a DELETE; its body, DeleteOptions, has the same fields. */
export const deleteParameters: readonly ParameterFact[] = [
  dryRun,
  whole('gracePeriodSeconds', 'Seconds the object has to end; 0 means now.'),
  flag(
    'ignoreStoreReadErrorWithClusterBreakingPotential',
    'Delete an object that cannot be read. Alpha upstream and without effect here.',
  ),
  flag('orphanDependents', 'Deprecated: use propagationPolicy.'),
  text('propagationPolicy', "What becomes of dependents: 'Orphan', 'Background' or 'Foreground'."),
];

export const deleteCollectionParameters: readonly ParameterFact[] = [...selection, ...deleteParameters];

const container = text('container', 'Container of the pod; the only one or the default one without it.');
const streams: readonly ParameterFact[] = [
  flag('stderr', 'Stream standard error.'),
  flag('stdin', 'Stream standard input.'),
  flag('stdout', 'Stream standard output.'),
  flag('tty', 'Use a terminal.'),
];
const proxied = [text('path', 'Path of the request behind the proxy.')];

/** Query parameters of connect operations by sub-resource. */
export const subresourceParameters: Readonly<Record<string, readonly ParameterFact[]>> = {
  attach: [container, ...streams],
  exec: [text('command', 'The program and its arguments, one each.'), container, ...streams],
  log: [
    container,
    flag('follow', 'Stream the log as it grows.'),
    flag('insecureSkipTLSVerifyBackend', "Do not verify the kubelet's certificate."),
    whole('limitBytes', 'Most bytes to return.'),
    flag('previous', 'The log of the last run that ended.'),
    whole('sinceSeconds', 'Only lines of the last so many seconds.'),
    text('stream', 'All, Stdout or Stderr.'),
    whole('tailLines', 'Only so many lines at the end.'),
    flag('timestamps', 'Begin every line with its time.'),
  ],
  portforward: [whole('ports', 'Ports to forward.')],
  proxy: proxied,
};
