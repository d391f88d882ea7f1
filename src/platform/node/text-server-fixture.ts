import { serveTexts } from './text-server.ts';

serveTexts({
  upper: (text) => text.toUpperCase(),
  fails: (text) => {
    throw new TypeError(text);
  },
  endless: () => {
    for (;;);
  },
  grows: () => {
    const kept: string[][] = [];
    for (;;) kept.push(Array.from({ length: 1000 }, (_, i) => `${kept.length} ${i}`));
  },
});
