import { VirtualClock } from '../../platform/sim/virtual-clock.ts';
import { describeStore } from '../store-suite.ts';
import { createMemoryStore } from './memory-store.ts';

describeStore('memory store', async () => {
  const clock = new VirtualClock();
  return { store: createMemoryStore({ clock }), clock };
});
