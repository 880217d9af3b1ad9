#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A removal that the folder of a cache has not carried out yet.
enum PendingRemoval: Sendable {
    case removal(CacheRemoval)
    /// What is stored of that variant; only that response, if there is one.
    case variant(CacheVariant, CacheKey, StoredResponse?)

    /// The removal of all that this covers, or more.
    var removal: CacheRemoval {
        switch self {
        case .variant(_, let key, _): .resource(key.resource)
        case .removal(let removal): removal
        }
    }
}

/// The removals that the folder of a cache has not carried out yet. What one of them covers is not found any more.
///
/// What is asked for again is carried out once. If too many wait, those of single variants become removals of their
/// resources, and if that is not enough, everything is removed: the disk does not work then.
struct PendingRemovals: Sendable {
    /// So many may wait.
    static let most = 4096

    /// A removal, with the number of the last request for it.
    struct Entry: Sendable {
        let number: Int
        let removal: PendingRemoval
    }

    private struct Variant: Sendable {
        var number: Int
        let variant: CacheVariant
        let only: StoredResponse?
    }

    private var removals: [CacheRemoval: Int] = [:]
    private var variants: [CacheKey: [Variant]] = [:]
    private var variantCount = 0
    private var lastNumber = 0

    var isEmpty: Bool { removals.isEmpty && variants.isEmpty }

    /// All of them, in the order in which they were asked for last.
    var entries: [Entry] {
        let whole = removals.map { Entry(number: $0.value, removal: .removal($0.key)) }
        let single = variants.flatMap { key, list in
            list.map { Entry(number: $0.number, removal: .variant($0.variant, key, $0.only)) }
        }
        return (whole + single).sorted { $0.number < $1.number }
    }

    mutating func add(_ removal: PendingRemoval) {
        lastNumber += 1
        switch removal {
        case .removal(let removal): removals[removal] = lastNumber
        case .variant(let variant, let key, let only):
            var list = variants[key] ?? []
            if let index = list.firstIndex(where: { $0.variant == variant && $0.only === only }) {
                list[index].number = lastNumber
            } else {
                list.append(Variant(number: lastNumber, variant: variant, only: only))
                variantCount += 1
            }
            variants[key] = list
        }
        if removals.count + variantCount > Self.most { collapse() }
    }

    private mutating func collapse() {
        for key in variants.keys { removals[.resource(key.resource)] = lastNumber }
        (variants, variantCount) = ([:], 0)
        if removals.count > Self.most { removals = [.everything: lastNumber] }
    }

    /// Notes that a removal was carried out, unless it has been asked for again since.
    mutating func settle(_ entry: Entry) {
        switch entry.removal {
        case .removal(let removal):
            if removals[removal] == entry.number { removals[removal] = nil }
        case .variant(_, let key, _):
            guard let index = variants[key]?.firstIndex(where: { $0.number == entry.number }) else { return }
            variants[key]?.remove(at: index)
            if variants[key]?.isEmpty == true { variants[key] = nil }
            variantCount -= 1
        }
    }

    func covers(_ response: StoredResponse, at key: CacheKey) -> Bool {
        if isEmpty { return false }
        let isOfVariant = variants[key]?.contains { pending in
            response.variant == pending.variant && pending.only.map(response.isSame) ?? true
        }
        if isOfVariant ?? false || removals[.everything] != nil { return true }
        if CacheRemoval.covering(response, at: key).contains(where: { removals[$0] != nil }) { return true }
        // Of what is stored under a name, the URL is not known any more.
        return key.resource.isNamed && removals.keys.contains { if case .resource(.url) = $0 { true } else { false } }
    }
}

extension StoredResponse {
    /// Whether both are one response, which may have been read twice.
    func isSame(as other: StoredResponse) -> Bool {
        self === other
            || variant == other.variant && freshness.received.date == other.freshness.received.date
                && status == other.status && headers == other.headers
    }
}
