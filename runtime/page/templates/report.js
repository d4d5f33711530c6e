'use strict';
(() => {
  const LARGEST = 1.4;  // how much larger than drawn a graph is shown at first
  const root = document.documentElement;
  document.getElementById('theme').addEventListener('click', () => {
    const dark = root.dataset.theme ? root.dataset.theme === 'dark'
      : matchMedia('(prefers-color-scheme: dark)').matches;
    root.dataset.theme = dark ? 'light' : 'dark';
  });

  /* ['block.py:14', 'net.py:40'] of 'block.py:14 linear < net.py:40' */
  const keysOf = (origin) => (origin || '').split(' < ')
    .map((part) => (/^(.*?:\d+)(\s|$)/.exec(part) || ['', ''])[1]).filter((key) => key);

  for (const program of document.querySelectorAll('.program')) {
    const all = (query) => program.querySelectorAll(query);
    const one = (query) => program.querySelector(query);
    const view = one('.view');
    let box = null;  // what part of the picture is shown: x, y, width, height

    const show = (name) => {
      for (const tab of all('.tab')) tab.hidden = tab.dataset.tab !== name;
      for (const button of all('.tabs button')) {
        button.setAttribute('aria-selected', String(button.dataset.tab === name));
      }
    };
    for (const button of all('.tabs button')) {
      button.addEventListener('click', () => show(button.dataset.tab));
    }
    show('graph');

    /* -- the graph */
    const place = () => view.firstElementChild.setAttribute('viewBox', box.join(' '));
    const whole = () => {
      const svg = view.firstElementChild;
      const [width, height] = [+svg.dataset.width, +svg.dataset.height];
      /* a small graph is not blown up */
      const part = Math.min(1, Math.max(width / view.clientWidth, height / view.clientHeight) * LARGEST);
      box = [-10 - (width / part - width) / 2, -10 - (height / part - height) / 2, width / part, height / part];
      place();
    };
    /* a large graph begins at its first node, in a size to read */
    const beginning = () => {
      whole();
      const [width, height] = [view.clientWidth / 0.9, view.clientHeight / 0.9];
      const first = view.querySelector('.b');
      if (!first || (box[2] < 1.8 * width && box[3] < 1.8 * height)) return;
      const [, x, y] = /translate\((\S+) (\S+)\)/.exec(first.getAttribute('transform'));
      box = [+x + 90 - width / 2, +y - 60, width, height];
      place();
    };
    const zoom = (factor, x = 0.5, y = 0.5) => {
      const [width, height] = [box[2] / factor, box[3] / factor];
      box = [box[0] + x * (box[2] - width), box[1] + y * (box[3] - height), width, height];
      place();
    };
    const stage = (number) => {
      const template = one(`template[data-stage="${number}"]`);
      view.replaceChildren(template.content.cloneNode(true));
      const svg = view.querySelector('svg');
      view.replaceChildren(svg);
      svg.dataset.width = svg.getAttribute('width');
      svg.dataset.height = svg.getAttribute('height');
      svg.removeAttribute('width');
      svg.removeAttribute('height');
      beginning();
    };
    const choice = one('.stage');
    choice.addEventListener('change', () => stage(choice.value));
    for (const button of all('.zoom')) {
      button.addEventListener('click', () => {
        if (+button.dataset.zoom) zoom(+button.dataset.zoom); else whole();
      });
    }
    view.addEventListener('wheel', (event) => {
      event.preventDefault();
      const area = view.getBoundingClientRect();
      zoom(event.deltaY < 0 ? 1.15 : 1 / 1.15, (event.clientX - area.left) / area.width,
        (event.clientY - area.top) / area.height);
    }, { passive: false });
    let from = null;
    view.addEventListener('pointerdown', (event) => { from = [event.clientX, event.clientY, ...box]; });
    addEventListener('pointerup', () => { from = null; });
    addEventListener('pointermove', (event) => {
      if (!from) return;
      const scale = Math.max(box[2] / view.clientWidth, box[3] / view.clientHeight);
      box = [from[2] - (event.clientX - from[0]) * scale, from[3] - (event.clientY - from[1]) * scale, box[2], box[3]];
      place();
    });
    view.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (event.key === '+') zoom(1.25);
      else if (event.key === '-') zoom(0.8);
      else if (step) { box[0] += step[0] * box[2] / 10; box[1] += step[1] * box[3] / 10; place(); } else return;
      event.preventDefault();
    });
    const last = [...choice.options].reverse().find((o) => !o.disabled && /forward/.test(o.text))
      || [...choice.options].find((o) => !o.disabled);
    const begin = () => { if (last && !box) { choice.value = last.value; stage(last.value); } };
    if (program.open) begin();
    program.addEventListener('toggle', begin);

    /* -- details of a node */
    const details = one('.details');
    const entry = (list, name, value) => {
      if (!value) return;
      const term = document.createElement('dt');
      const text = document.createElement('dd');
      term.textContent = name;
      text.textContent = value;
      list.append(term, text);
    };
    view.addEventListener('click', (event) => {
      const node = event.target.closest('text.n')
        || (event.target.closest('.b') && event.target.closest('.b').querySelector('text.n'));
      if (!node) return;
      for (const picked of all('.picked')) picked.classList.remove('picked');
      const group = node.closest('.b');
      group.classList.add('picked');
      const title = node.querySelector('title');
      const line = title ? title.textContent : node.firstChild.textContent;
      const list = document.createElement('dl');
      const origin = node.dataset.o;
      entry(list, 'node', line);
      entry(list, 'type', (/: (.*?) = /.exec(line) || ['', ''])[1]);
      entry(list, 'your line', origin);
      const code = keysOf(origin).map((key) => one(`.ln[data-k="${CSS.escape(key)}"]`)).filter((line) => line);
      entry(list, 'code', code.map((line) => line.textContent.replace(/^\s*\d+/, '').trim()).join('\n'));
      const kernel = group.querySelector('.t');
      entry(list, 'kernel', kernel ? `${kernel.textContent}, ${group.querySelectorAll('.n').length} nodes` : '');
      const part = (/: (.*?) \(/.exec(choice.selectedOptions[0].text) || ['', ''])[1];
      for (const drawing of all('svg.memory')) {
        if (drawing.dataset.part !== part) continue;
        for (const block of drawing.querySelectorAll('rect')) {
          if (block.dataset.n.split(' ').includes(line.split(/: | = /)[0])) entry(list, `${drawing.dataset.where} memory`, block.textContent);
        }
      }
      details.replaceChildren(list);
    });

    /* -- lines that belong together: those of the one are among those of the other */
    const places = (line) => keysOf(line.dataset.k || line.dataset.o);
    const light = (keys) => {
      for (const hot of all('.hot')) hot.classList.remove('hot');
      if (!keys.length) return;
      for (const line of [...all('[data-k]'), ...view.querySelectorAll('text.n')]) {
        const [few, many] = [keys, places(line)].sort((a, b) => a.length - b.length);
        if (few.length && few.every((key) => many.includes(key))) line.classList.add('hot');
      }
    };
    program.addEventListener('pointerover', (event) => {
      const line = event.target.closest('[data-k], text.n');
      light(line ? places(line) : []);
    });
    for (const line of all('.pane [data-k]')) {
      line.addEventListener('click', () => {
        for (const pane of all('.pane pre')) {
          const same = pane.querySelector(`[data-k="${CSS.escape(line.dataset.k)}"]`);
          if (same && pane !== line.parentElement) pane.scrollTop = same.offsetTop - pane.offsetTop - 60;
        }
      });
    }
  }
})();
