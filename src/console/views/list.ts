/** Every view. A new one: a folder and a line here. */
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
];
