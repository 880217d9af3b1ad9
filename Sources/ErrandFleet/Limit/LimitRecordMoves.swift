/// How permits move in the record of a limit.
extension LimitRecord {
    /// Makes what nodes own free.
    mutating func release(_ ids: Set<String>) {
        for id in ids {
            free += owned(by: id)
            update(id) { node in
                node.owned = 0
                node.wants = 0
            }
        }
    }

    /// Returns how many permits a node should own.
    func target(of id: String) -> Int {
        nodes.firstIndex { $0.id == id }.map { targets()[$0] } ?? 0
    }

    /// Gives so many of a node's permits to those that have less than their targets, which are in the order of `view`.
    mutating func give(_ count: Int, of id: String, towards targets: [Int], of view: LimitRecord) {
        var left = count
        if free < 0 {
            let part = min(left, -free)
            free += part
            left -= part
        }
        for (node, target) in zip(view.nodes, targets) where node.id != id && node.isShort && left > 0 {
            let part = min(left, max(0, min(target, node.wants) - node.owned))
            guard part > 0 else { continue }
            update(node.id) { $0.owned += part }
            left -= part
        }
        update(id) { $0.owned -= count - left }
    }
}

extension Int {
    /// The number, rounded up to one of a few steps; at most `limit`.
    func roundedUp(to limit: Int) -> Int {
        var step = 1
        while step < self / 4 { step *= 2 }
        return Swift.min(limit, (self + step - 1) / step * step)
    }
}
