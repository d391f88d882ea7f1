/** Icons: strokes on a grid of 16. They have no accessible name; the element around them has a label. */

const PATHS: Readonly<Record<string, string>> = {
  menu: 'M2 4h12M2 8h12M2 12h12',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10ZM11 11l3 3',
  help: 'M5.5 6a2.5 2.5 0 1 1 3.6 2.2C8.3 8.7 8 9.2 8 10M8 13v.1',
  leave: 'M9 2H3v12h6M7 8h7M11 5l3 3-3 3',
  close: 'M3 3l10 10M13 3 3 13',
  system: 'M2 3h12v8H2zM5 14h6M8 11v3',
  light: 'M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6ZM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  dark: 'M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5Z',
  overview: 'M2 2h5v6H2zM9 2h5v3H9zM9 7h5v7H9zM2 10h5v4H2z',
  topology: 'M8 2v4M8 6 4 10M8 6l4 4M8 1.5a1 1 0 1 0 0 .1M4 11a1.5 1.5 0 1 0 .1 0M12 11a1.5 1.5 0 1 0 .1 0',
  charts: 'M2 2v12h12M5 10l3-4 2 2 4-5',
  time: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12ZM8 5v3l2 2',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  columns: 'M2 3h12v10H2zM6.5 3v10M10.5 3v10',
};

export function Icon({ name }: { readonly name: string }) {
  return (
    <svg class="glyph" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path d={PATHS[name] ?? ''} />
    </svg>
  );
}
