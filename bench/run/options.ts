// The command line of the benchmark.
import { parseArgs } from 'node:util';

/** What is measured, and for how long. */
export interface BenchOptions {
  readonly json: boolean;
  /** Takes less than a minute: shorter samples, one pod three times, no Deployment. */
  readonly quick: boolean;
  readonly deployment: boolean;
  readonly pods: number;
  /** Parts to run; all when empty. */
  readonly only: readonly string[];
  /** Further arguments of `keelson up`, such as ranges. */
  readonly up: readonly string[];
  /** Arguments of Node.js for the measured process, such as --cpu-prof. */
  readonly nodeArgs: readonly string[];
}

const USAGE = `usage: npm run bench -- [options]
  --quick               shorter samples: under a minute
  --json                one JSON object on standard output, nothing else
  --deployment          also a Deployment 0 -> 60 -> 0
  --pods N              pods started at once (30)
  --only PART,PART      of: idle, demo, api, wrk, watch, list, pods; with --quick only when
                        named: pods80, kubelet; always only when named: pods500, stored;
                        the API server's goals: --only wrk,watch,list,stored
  --node-arg ARG        an argument of Node.js for the measured process; may be repeated
  --cluster-cidr RANGE, --service-cidr RANGE  as \`keelson up\``;

/** Parses the command line. @throws Error with the usage */
export function readOptions(args: readonly string[]): BenchOptions {
  const { values } = parsed(args);
  const pods = Number(values.pods);
  if (!Number.isInteger(pods) || pods < 1 || pods > 110)
    throw new Error(`--pods: ${values.pods} is not between 1 and 110`);
  const range = (name: 'cluster-cidr' | 'service-cidr'): string[] =>
    values[name] === undefined ? [] : [`--${name}`, values[name]];
  return {
    json: values.json,
    quick: values.quick,
    deployment: values.deployment,
    pods,
    only: values.only === undefined ? [] : values.only.split(','),
    up: [...range('cluster-cidr'), ...range('service-cidr')],
    nodeArgs: values['node-arg'],
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        json: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        deployment: { type: 'boolean', default: false },
        pods: { type: 'string', default: '30' },
        only: { type: 'string' },
        'node-arg': { type: 'string', multiple: true, default: [] },
        'cluster-cidr': { type: 'string' },
        'service-cidr': { type: 'string' },
      },
    });
  } catch (error) {
    throw new Error(`${(error as Error).message}\n${USAGE}`, { cause: error });
  }
}
