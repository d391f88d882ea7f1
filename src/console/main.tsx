/** Starts the page: the session first, then the views. */
import { render } from 'preact';
import { followCluster } from './app/cluster-state.ts';
import { followKeys } from './app/keyboard.ts';
import { followAddress } from './app/router.ts';
import { registerViews } from './app/registered-views.ts';
import { followSimulation } from './app/simulation.ts';
import { openSession } from './app/session.ts';
import { Shell } from './app/shell.tsx';
import { applyTheme } from './app/theme.ts';
import { views } from './views/list.ts';

registerViews(views);
applyTheme();
const opening = openSession();
followAddress();
followKeys();
followCluster();
followSimulation();
render(<Shell />, document.getElementById('app')!);
await opening;
