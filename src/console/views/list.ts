/** All views. To add one: a folder and a line here. */
import { kindId } from '../api/kinds.ts';
import { objectHref } from '../app/hrefs.ts';
import { texts } from '../app/texts.ts';
import { WORKLOADS } from '../parts/workload-kinds.ts';
import type { Need, ViewEntry } from './contract.ts';

/** The right to run a command in a pod. */
const EXEC: readonly Need[] = [
  { verb: 'get', resource: 'pods' },
  { verb: 'get', resource: 'pods', subresource: 'exec' },
  { verb: 'create', resource: 'pods', subresource: 'exec' },
];

/** Pods, and kinds whose pods' logs are shown together. The pods of a CronJob are those of its Jobs. */
const WITH_LOGS = ['pods', 'services', ...WORKLOADS.filter((kind) => kind !== 'cronjobs.batch')];

export const views: readonly ViewEntry[] = [
  {
    name: '',
    title: texts.overview.title,
    hasPast: true,
    menu: { icon: 'overview' },
    load: () => import('./overview/overview.tsx'),
  },
  {
    name: 'topology',
    title: texts.topology.title,
    hasPast: true,
    menu: { icon: 'topology', kind: 'pods' },
    load: () => import('./topology/topology.tsx'),
  },
  {
    name: 'charts',
    title: texts.charts.title,
    menu: { icon: 'charts', kind: 'pods' },
    actions: [
      {
        key: 'c',
        label: texts.charts.title,
        needs: [{ verb: 'get' }],
        applies: (kind) => ['nodes', 'pods'].includes(kindId(kind)),
        href: (ref) => objectHref('charts', ref),
      },
      {
        key: 'c',
        label: texts.charts.title,
        needs: [{ verb: 'get' }, { verb: 'list', resource: 'pods' }],
        applies: (kind) => WORKLOADS.includes(kindId(kind)),
        href: (ref) => objectHref('charts', ref),
      },
    ],
    load: () => import('./charts/charts.tsx'),
  },
  {
    name: 'list',
    title: texts.shell.kinds,
    hasPast: true,
    load: () => import('./resources/resources.tsx'),
  },
  {
    name: 'object',
    title: texts.object.title,
    hasPast: true,
    actions: [
      {
        key: 'e',
        label: texts.edit.begin,
        changes: true,
        needs: [{ verb: 'patch' }],
        applies: ({ verbs }) => verbs.includes('patch'),
        href: (ref) => objectHref('object', ref, { tab: 'yaml', edit: '1' }),
      },
    ],
    load: () => import('./object/object.tsx'),
  },
  {
    name: 'pod',
    title: texts.pod.title,
    actions: [
      {
        key: 'p',
        label: texts.pod.title,
        needs: [{ verb: 'get' }],
        applies: (kind) => kindId(kind) === 'pods',
        href: (ref) => objectHref('pod', ref),
      },
    ],
    load: () => import('./pod/pod.tsx'),
  },
  {
    name: 'logs',
    title: texts.logs.title,
    actions: [
      {
        key: 'l',
        label: texts.logs.title,
        needs: [
          { verb: 'get', resource: 'pods' },
          { verb: 'get', resource: 'pods', subresource: 'log' },
        ],
        applies: (kind) => WITH_LOGS.includes(kindId(kind)),
        href: (ref) => objectHref('logs', ref),
      },
    ],
    load: () => import('./logs/logs.tsx'),
  },
  {
    name: 'shell',
    title: texts.terminal.title,
    actions: [
      {
        key: 's',
        label: texts.terminal.title,
        needs: EXEC,
        applies: (kind) => kindId(kind) === 'pods',
        href: (ref) => objectHref('shell', ref),
      },
    ],
    load: () => import('./shell/shell.tsx'),
  },
  {
    name: 'files',
    title: texts.files.title,
    actions: [
      {
        key: 'b',
        label: texts.files.title,
        needs: EXEC,
        applies: (kind) => kindId(kind) === 'pods',
        href: (ref) => objectHref('files', ref),
      },
    ],
    load: () => import('./files/files.tsx'),
  },
];
