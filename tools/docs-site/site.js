// Runs in the browser: the menu of narrow windows, light or dark colours, and search. The index is a script, so that pages opened
// as files can search too.
'use strict';
{
  const root = document.currentScript.dataset.root;
  const KEPT = 'keelson-docs-theme';
  const kept = (() => {
    try {
      return localStorage.getItem(KEPT);
    } catch {
      return null;
    }
  })();
  if (kept !== null) document.documentElement.dataset.theme = kept;

  const theme = document.getElementById('theme');
  theme.addEventListener('click', () => {
    const isDark =
      document.documentElement.dataset.theme === 'dark' ||
      (document.documentElement.dataset.theme === undefined && matchMedia('(prefers-color-scheme: dark)').matches);
    document.documentElement.dataset.theme = isDark ? 'light' : 'dark';
    try {
      localStorage.setItem(KEPT, document.documentElement.dataset.theme);
    } catch {
      // without storage, the choice lasts as long as the page
    }
  });

  const menu = document.getElementById('menu');
  menu.addEventListener('click', () => {
    const isOpen = document.getElementById('nav').classList.toggle('open');
    menu.setAttribute('aria-expanded', String(isOpen));
  });

  const input = document.getElementById('search');
  const results = document.getElementById('results');
  let loading;
  const index = () =>
    (loading ??= new Promise((resolve, reject) => {
      const script = document.createElement('script');
      script.src = `${root}/search-index.js`;
      script.onload = () => resolve(globalThis.keelsonSearchIndex);
      script.onerror = reject;
      document.head.append(script);
    }));

  const MOST_RESULTS = 20;
  const scoreOf = (entry, words) => {
    const title = entry.title.toLowerCase();
    const page = entry.page.toLowerCase();
    const text = entry.text.toLowerCase();
    let score = 0;
    for (const word of words) {
      const count = text.split(word).length - 1;
      const own = (title.includes(word) ? 20 : 0) + (page.includes(word) ? 8 : 0) + Math.min(count, 5);
      if (own === 0) return 0;
      score += own;
    }
    return score;
  };

  const marked = (text, words) => {
    const fragment = document.createDocumentFragment();
    const lower = text.toLowerCase();
    let at = 0;
    while (at < text.length) {
      const next = words
        .map((word) => ({ word, start: lower.indexOf(word, at) }))
        .filter(({ start }) => start >= 0)
        .sort((one, other) => one.start - other.start)[0];
      if (next === undefined) break;
      fragment.append(text.slice(at, next.start));
      const mark = document.createElement('mark');
      mark.textContent = text.slice(next.start, next.start + next.word.length);
      fragment.append(mark);
      at = next.start + next.word.length;
    }
    fragment.append(text.slice(at));
    return fragment;
  };

  const excerpt = (text, words) => {
    const found = Math.max(
      0,
      Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0)),
    );
    const start = Number.isFinite(found) ? Math.max(0, found - 40) : 0;
    return (start > 0 ? '…' : '') + text.slice(start, start + 140) + (start + 140 < text.length ? '…' : '');
  };

  const show = async () => {
    const words = input.value
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word.length > 1);
    if (words.length === 0) {
      results.hidden = true;
      return;
    }
    const entries = await index();
    const best = entries
      .map((entry) => ({ entry, score: scoreOf(entry, words) }))
      .filter(({ score }) => score > 0)
      .sort((one, other) => other.score - one.score)
      .slice(0, MOST_RESULTS);
    results.replaceChildren(
      ...best.map(({ entry }) => {
        const item = document.createElement('li');
        const link = document.createElement('a');
        link.href = `${root}/${entry.file}${entry.anchor === '' ? '' : `#${entry.anchor}`}`;
        link.append(marked(entry.title, words));
        const where = document.createElement('small');
        where.append(`${entry.page} · `, marked(excerpt(entry.text, words), words));
        link.append(where);
        item.append(link);
        return item;
      }),
    );
    if (best.length === 0) {
      const item = document.createElement('li');
      const text = document.createElement('p');
      text.textContent = 'Nothing has all of these words.';
      item.append(text);
      results.append(item);
    }
    results.hidden = false;
  };
  input.addEventListener('input', show);
  input.addEventListener('focus', index, { once: true });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' || event.key === 'ArrowDown') {
      event.preventDefault();
      const first = results.querySelector('a');
      if (event.key === 'Enter') first?.click();
      else first?.focus();
    } else if (event.key === 'Escape') results.hidden = true;
  });
  results.addEventListener('keydown', (event) => {
    const links = [...results.querySelectorAll('a')];
    const at = links.indexOf(document.activeElement);
    if (event.key === 'ArrowDown') links[at + 1]?.focus();
    else if (event.key === 'ArrowUp') (links[at - 1] ?? input).focus();
    else if (event.key === 'Escape') input.focus();
    else return;
    event.preventDefault();
  });
  results.addEventListener('click', () => (results.hidden = true));
  document.addEventListener('click', (event) => {
    if (!event.target.closest('.search')) results.hidden = true;
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== '/' || event.target.closest('input, textarea')) return;
    event.preventDefault();
    input.focus();
  });
}
