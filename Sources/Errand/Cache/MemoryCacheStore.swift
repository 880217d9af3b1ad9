#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Keeps responses in memory, up to a number of bytes. Those that were not used for the longest time go first.
///
/// Responses stand in slots, which are linked in the order of their last use. So a hit changes four numbers, and moves
/// nothing. For whatever may be removed, such as a resource or a tag, there is a list of the slots that it covers, so
/// that a removal takes no longer with many responses than with few.
final class MemoryCacheStore: CacheStore {
    /// A place has no more variants than this: they are searched one after the other.
    private static let variants = 32
    /// A single response takes no more than this share of the limit, or it would push out all the others.
    private static let largestShare = 4

    fileprivate struct Slot {
        let key: CacheKey
        var response: StoredResponse
        var size: Int
        /// The slots that were used before and after this one; -1 at the ends.
        var older = -1
        var newer = -1
    }

    fileprivate struct State {
        var slots: [Slot?] = []
        var free: [Int] = []
        var places: [CacheKey: [Int]] = [:]
        /// The slots that each removal covers, but for that of everything.
        var covered: [CacheRemoval: Set<Int>] = [:]
        var (oldest, newest) = (-1, -1)
        var (responses, bytes) = (0, 0)
    }

    let limit: Int
    private let state = Lock(State())

    init(bytes limit: Int) {
        self.limit = limit
    }

    var extent: (responses: Int, bytes: Int) {
        state.withLock { ($0.responses, $0.bytes) }
    }

    var outlivesProcess: Bool { false }
    /// Memory does not fail.
    var failures: Int { 0 }

    /// Everything that is stored.
    var everything: [(key: CacheKey, response: StoredResponse)] {
        state.withLock { $0.slots.compactMap { slot in slot.map { ($0.key, $0.response) } } }
    }

    func lookup(_ key: CacheKey, matching isMatch: (CacheVariant) -> Bool) -> CacheLookup {
        state.withLock { state in
            guard let index = state.slot(at: key, where: { isMatch($0.variant) }),
                let response = state.slots[index]?.response
            else { return .nothing }
            state.use(index)
            return .found(response)
        }
    }

    func look(at key: CacheKey, matching isMatch: (CacheVariant) -> Bool) -> StoredResponse? {
        if case .found(let response) = lookup(key, matching: isMatch) { response } else { nil }
    }

    func read(
        _ key: CacheKey, in _: CallScope, matching isMatch: @escaping @Sendable (CacheVariant) -> Bool
    ) -> StoredResponse? {
        look(at: key, matching: isMatch)
    }

    func insert(
        _ response: StoredResponse, at key: CacheKey, unless isOvertaken: @escaping @Sendable () -> Bool
    ) -> CacheStatus.Reason? {
        state.withLock { state in
            if isOvertaken() { return .overtaken }
            let earlier = state.slot(at: key) { $0.variant == response.variant }
            return insert(
                response.tagged(earlier.flatMap { state.slots[$0]?.response.tags } ?? []), at: key, in: &state, earlier)
        }
    }

    private func insert(
        _ response: StoredResponse, at key: CacheKey, in state: inout State, _ earlier: Int?
    ) -> CacheStatus.Reason? {
        let size = response.size
        guard size <= limit / Self.largestShare, !response.hasTooManyNames else {
            // What it replaces is out of date, and so is what depends on nothing.
            if let earlier { state.remove(earlier) }
            if let plain = state.slot(at: key, where: { $0.variant == .none }) { state.remove(plain) }
            return .tooLarge
        }
        if let earlier {
            state.replace(earlier, by: response, size: size)
        } else {
            state.add(Slot(key: key, response: response, size: size), upTo: Self.variants)
        }
        while state.bytes > limit, state.oldest >= 0 { state.remove(state.oldest) }
        return nil
    }

    func add(
        _ tags: Set<String>, to variant: CacheVariant, at key: CacheKey,
        unless isOvertaken: @escaping @Sendable () -> Bool
    ) {
        state.withLock { state in
            guard let index = state.slot(at: key, where: { $0.variant == variant }),
                let present = state.slots[index]?.response
            else { return }
            if isOvertaken() { return state.remove(index) }
            _ = insert(present.tagged(tags), at: key, in: &state, index)
        }
    }

    func remove(_ response: StoredResponse, at key: CacheKey) {
        // It may have further tags by now, and is another object then.
        let identity = response.identity
        state.withLock { state in
            if let index = state.slot(at: key, where: { $0.identity == identity }) { state.remove(index) }
        }
    }

    func forget(_ session: UUID) {
        remove(.session(session))
    }

    func remove(_ removals: [CacheRemoval]) {
        // What is removed altogether is released outside of the lock.
        let removed: State? = state.withLock { state in
            if removals.contains(.everything) {
                defer { state = State() }
                return state
            }
            for removal in removals {
                for index in state.indices(coveredBy: removal) { state.remove(index) }
            }
            return nil
        }
        _ = consume removed
    }

    func remove(_ removal: CacheRemoval) { remove([removal]) }

    func trimMemory(to bytes: Int) {
        // What is removed is released outside of the lock.
        var removed: [StoredResponse] = []
        state.withLock { state in
            while state.bytes > bytes, state.oldest >= 0 {
                if let slot = state.slots[state.oldest] { removed.append(slot.response) }
                state.remove(state.oldest)
            }
        }
    }

    func entries() -> [HTTPCache.Entry] { everything.map { HTTPCache.Entry($0.response) } }
}

extension MemoryCacheStore.State {
    /// Returns the slot at that place whose response fits; of several the newest (RFC 9111, 4.1).
    func slot(at key: CacheKey, where fits: (StoredResponse) -> Bool) -> Int? {
        var found: (index: Int, freshness: CacheFreshness)?
        for index in places[key] ?? [] {
            guard let response = slots[index]?.response, fits(response) else { continue }
            // Of two that came at the same moment, the one that was stored last.
            if let found, found.freshness.isNewer(than: response.freshness) { continue }
            found = (index, response.freshness)
        }
        return found?.index
    }

    /// Moves a slot to the end of those that were used last.
    mutating func use(_ index: Int) {
        guard index != newest else { return }
        unlink(index)
        link(index)
    }

    mutating func add(_ slot: MemoryCacheStore.Slot, upTo variants: Int) {
        if let crowd = places[slot.key], crowd.count >= variants, let first = crowd.first { remove(first) }
        let index: Int
        if let unused = free.popLast() {
            index = unused
            slots[index] = slot
        } else {
            index = slots.count
            slots.append(slot)
        }
        places[slot.key, default: []].append(index)
        cover(index)
        responses += 1
        bytes += slot.size
        link(index)
    }

    mutating func replace(_ index: Int, by response: StoredResponse, size: Int) {
        bytes += size - (slots[index]?.size ?? 0)
        uncover(index)
        slots[index]?.response = response
        slots[index]?.size = size
        cover(index)
        // A place lists its responses in the order in which they were stored.
        if let key = slots[index]?.key, let crowd = places[key], crowd.last != index {
            places[key] = crowd.filter { $0 != index } + [index]
        }
        use(index)
    }

    mutating func remove(_ index: Int) {
        guard let slot = slots[index] else { return }
        unlink(index)
        uncover(index)
        slots[index] = nil
        free.append(index)
        responses -= 1
        bytes -= slot.size
        places[slot.key]?.removeAll { $0 == index }
        if places[slot.key]?.isEmpty == true { places[slot.key] = nil }
    }

    /// Returns the slots that a removal covers.
    func indices(coveredBy removal: CacheRemoval) -> [Int] {
        switch removal {
        case .own(let url, let session):
            covered[.resource(.url(url))]?.filter { slots[$0]?.key.partition.session == session } ?? []
        // Only a person or a program asks for this, and no response.
        case .below: slots.indices.filter { slots[$0]?.response.isCovered(by: removal) ?? false }
        default: Array(covered[removal] ?? [])
        }
    }

    private func removals(of index: Int) -> [CacheRemoval] {
        slots[index].map { CacheRemoval.indexed($0.response, at: $0.key) } ?? []
    }

    private mutating func cover(_ index: Int) {
        for removal in removals(of: index) { covered[removal, default: []].insert(index) }
    }

    private mutating func uncover(_ index: Int) {
        for removal in removals(of: index) {
            covered[removal]?.remove(index)
            if covered[removal]?.isEmpty == true { covered[removal] = nil }
        }
    }

    private mutating func link(_ index: Int) {
        slots[index]?.older = newest
        slots[index]?.newer = -1
        if newest >= 0 { slots[newest]?.newer = index } else { oldest = index }
        newest = index
    }

    private mutating func unlink(_ index: Int) {
        guard let slot = slots[index] else { return }
        if slot.older >= 0 { slots[slot.older]?.newer = slot.newer } else { oldest = slot.newer }
        if slot.newer >= 0 { slots[slot.newer]?.older = slot.older } else { newest = slot.older }
    }
}
