/** Every view. A new one: a folder and a line here. */
import { objectHref } from '../app/places.ts';
import { texts } from '../app/texts.ts';
import type { ViewEntry } from './contract.ts';

export const views: readonly ViewEntry[] = [
  {
    name: '',
    title: texts.overview.title,
    menu: { icon: 'overview' },
    load: () => import('./overview/overview.tsx'),
  },
  {
    name: 'list',
    title: texts.shell.kinds,
    load: () => import('./resources/resources.tsx'),
  },
  {
    name: 'object',
    title: texts.object.title,
    actions: [
      {
        key: 'e',
        label: texts.edit.begin,
        needs: { verb: 'patch' },
        applies: ({ verbs }) => verbs.includes('patch'),
        href: (ref) => objectHref('object', ref, { tab: 'yaml', edit: '1' }),
      },
    ],
    load: () => import('./object/object.tsx'),
  },
];
