// The output of `npm run up`: a line at the end of each phase, and the summary.

/** One phase with its duration; an empty result means that there was nothing to do. */
export interface Phase {
  readonly name: string;
  readonly result: string;
  readonly durationMs: number;
}

/** The data of tools/bootstrap.mjs: its phases, some of which ran at the same time, and their duration together. */
export interface Setup {
  readonly phases: readonly Phase[];
  readonly durationMs: number;
}

/** Parses the data that tools/bootstrap.mjs passes in the environment; empty when it did not run. */
export function readSetup(text: string | undefined): Setup {
  return text === undefined || text === '' ? { phases: [], durationMs: 0 } : (JSON.parse(text) as Setup);
}

/** The phases of the set-up and those after it as a table, with the time from the first to the last. */
export function phaseTable(setup: Setup, phases: readonly Phase[]): string {
  const totalMs = phases.reduce((sum, phase) => sum + phase.durationMs, setup.durationMs);
  const all = [...setup.phases, ...phases];
  const width = Math.max(...all.map(({ name }) => name.length), 'total'.length);
  const line = (name: string, durationMs: number, result: string): string =>
    `  ${name.padEnd(width)}  ${`${(durationMs / 1000).toFixed(2)} s`.padStart(9)}  ${result}`.trimEnd();
  const lines = all.map(({ name, durationMs, result }) => line(name, durationMs, result === '' ? 'was done' : result));
  return [...lines, line('total', totalMs, '')].join('\n');
}

/** The addresses and paths of the cluster. */
export interface Place {
  readonly kubeconfig: string;
  readonly dataDir: string;
  readonly server: string;
  readonly demoUrl: string;
  readonly demoText: string;
}

/** The closing text: the cluster's addresses, and five things to try. */
export function closingText({ kubeconfig, dataDir, server, demoUrl, demoText }: Place): string {
  const dataDirOption = dataDir === '/var/lib/keelson' ? '' : ` --data-dir ${dataDir}`;
  return [
    `The cluster is at ${server}, its demo at ${demoUrl} ("${demoText}").`,
    '',
    `  export KUBECONFIG=${kubeconfig}`,
    '',
    'Five things to try:',
    '  kubectl get pods --all-namespaces -o wide',
    '  kubectl scale deployment demo --replicas 5 && kubectl get pods --watch',
    `  curl ${demoUrl}`,
    '  kubectl exec -it deploy/demo -- sh',
    '  kubectl delete pod -l app=demo && kubectl get events --watch',
    '',
    `  bin/keelson status${dataDirOption}   what is running`,
    `  bin/keelson down${dataDirOption}     stop it and leave the machine as it was`,
  ].join('\n');
}
