"""Experiment: streams of cells in records of fixed size."""
import numpy as np, dataclasses
def recode(found, wide, unit):
    each, head = (1, 2) if wide else (2, 1)
    R = head + 4 // each
    st = found.stream.reshape(-1, 4); cells = found.cells.copy()
    per = 1 if wide else 2  # words per value: position -> word
    E = len(st)
    # walk records
    heads = []; at = 0
    cell_of = []
    bounds = [(found.chunk[c[2]], found.chunk[c[2] + c[3]]) for c in cells]
    meta = st[:, 2]
    out_rows = []   # (old head, k-th part, n parts)
    rounds = 0
    H = []; P = []; N = []; first_rounds = []
    for ci, (b, e) in enumerate(bounds):
        at = b; count = 0
        while at < e:
            length = int(meta[at]) & 255
            arcs = length * each
            parts = max(1, -(-arcs // 4))
            for k in range(parts): H.append(at); P.append(k); N.append(parts)
            count += parts
            at += head + length
        while count % 3: H.append(-1); P.append(0); N.append(1); count += 1
        cells[ci, 2] = rounds; cells[ci, 3] = count // 3; rounds += count // 3
    H = np.array(H, np.int64); P = np.array(P, np.int64); N = np.array(N, np.int64)
    new = np.zeros((len(H), R, 4), np.int32)
    far = []
    vw = 2 if wide else 1   # words per value
    newpos = np.full(E * 4 // vw, -1, np.int64)   # old value position -> new
    real = H >= 0
    h = np.maximum(H, 0)
    old = meta[h]
    length = np.where(real, old & 255, 0)
    new[:, 0, 0] = np.where(real, st[h, 0], 0); new[:, 0, 1] = np.where(real, st[h, 1], 0)
    left = np.where(real, length * each - 4 * P, 0)
    m = (left > 0) * 1 + (left > 2) * 2
    m = m + np.where(real & (P == 0) & ((old >> 8 & 1) > 0), 4, 0)
    last = real & (P == N - 1) & ((old >> 9 & 1) > 0)
    m = m + np.where(last, 8, 0)
    keep = last & ((old >> 10 & 1) > 0)
    m = m + np.where(keep, 16 + (old >> 16) * unit, 0)
    new[:, 0, 2] = m
    base = np.arange(len(H)) * R * 4  # words
    # weight of the arc to the vertex before: of a first part where the old one has one
    ow = h * 4 + (4 if wide else 3); nw = base + (4 if wide else 3)
    mine = real & (P == 0) & ((old >> 8 & 1) > 0)
    newpos[ow[mine] // vw] = nw[mine] // vw   # those that are far are in far_at as well
    # other parts: 0 (weights are 0 already); dummy: 0
    for k in range(4):
        has = k < left
        oe = (h + head) * 4 + (4 * P + k) * (4 // each)
        ne = base + head * 4 + k * (4 // each)
        flat_new = new.reshape(-1)
        flat_new[ne[has]] = st.reshape(-1)[oe[has]] * unit
        off = 2 if wide else 1
        newpos[(oe[has] + off) // vw] = (ne[has] + off) // vw
        far.append((ne[~has] + off) // vw)
    wa = found.weight_at.copy(); u = wa >= 0
    wa[u] = newpos[wa[u]]
    assert (wa[u] >= 0).all()
    oldfar = newpos[found.far_at]
    # old far for continuing records of a vertex: weight 0 instead
    keepfar = oldfar[oldfar >= 0]
    # pad slots of the last pair: weight 0 from slot 0 = far anyway
    new_far = np.concatenate([keepfar] + far).astype(np.int32)
    return dataclasses.replace(found, cells=cells, stream=new.reshape(-1), weight_at=wa, far_at=new_far, chunk=np.zeros(0, np.int32))
