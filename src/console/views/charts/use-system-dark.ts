/** Whether the system prefers dark colours. A canvas must be drawn again when that changes. */
import { useEffect, useState } from 'preact/hooks';

export function useSystemDark(): boolean {
  const [isDark, setDark] = useState(() => query().matches);
  useEffect(() => {
    const media = query();
    const follow = (): void => setDark(media.matches);
    media.addEventListener('change', follow);
    return () => media.removeEventListener('change', follow);
  }, []);
  return isDark;
}

function query(): MediaQueryList {
  return matchMedia('(prefers-color-scheme: dark)');
}
