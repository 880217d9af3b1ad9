#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A removal that the folder of a cache has not carried out yet.
enum PendingRemoval: Sendable {
    case removal(CacheRemoval)
    /// What is stored of that variant; only that response, if there is one.
    case variant(CacheVariant, CacheKey, StoredResponse.Identity?)

    /// The removal of all that this covers, or more.
    var removal: CacheRemoval {
        switch self {
        case .variant(_, let key, _): .resource(key.resource)
        case .removal(let removal): removal
        }
    }
}

extension PendingRemoval {
    /// Returns what removes that which a response has made out of date, if the response itself is not stored: also what
    /// depends on nothing, which would be found first.
    static func outdated(by response: StoredResponse, at key: CacheKey) -> [PendingRemoval] {
        Set([response.variant, .none]).map { .variant($0, key, nil) }
    }
}

/// The removals that the folder of a cache has not carried out yet. What one of them covers is not found any more.
///
/// What is asked for again is carried out once. If very many wait, those of single variants become removals of their
/// resources, and if that is not enough, everything is removed.
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
        let only: StoredResponse.Identity?
    }

    private var removals: [CacheRemoval: Int] = [:]
    private var variants: [CacheKey: [Variant]] = [:]
    private var variantCount = 0
    /// The number of removals of a URL.
    private var urls = 0
    private var lastNumber = 0

    var isEmpty: Bool { removals.isEmpty && variants.isEmpty }

    /// All of them, in any order.
    var entries: [Entry] {
        removals.map { Entry(number: $0.value, removal: .removal($0.key)) }
            + variants.flatMap { key, list in
                list.map { Entry(number: $0.number, removal: .variant($0.variant, key, $0.only)) }
            }
    }

    mutating func add(_ removal: PendingRemoval) {
        lastNumber += 1
        switch removal {
        case .removal(let removal): add(removal)
        case .variant(let variant, let key, let only):
            let index = variants[key]?.firstIndex { $0.variant == variant && $0.only == only }
            if let index {
                variants[key]?[index].number = lastNumber
            } else {
                variants[key, default: []].append(Variant(number: lastNumber, variant: variant, only: only))
                variantCount += 1
            }
        }
        if removals.count + variantCount > Self.most { collapse() }
    }

    private mutating func add(_ removal: CacheRemoval) {
        if removals.updateValue(lastNumber, forKey: removal) == nil, removal.isOfURL { urls += 1 }
    }

    private mutating func collapse() {
        for key in variants.keys { add(.resource(key.resource)) }
        (variants, variantCount) = ([:], 0)
        if removals.count > Self.most { (removals, urls) = ([.everything: lastNumber], 0) }
    }

    /// Notes that a removal was carried out, unless it has been asked for again since.
    mutating func settle(_ entry: Entry) {
        switch entry.removal {
        case .removal(let removal):
            guard removals[removal] == entry.number else { return }
            removals[removal] = nil
            if removal.isOfURL { urls -= 1 }
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
            response.variant == pending.variant && pending.only.map { $0 == response.identity } ?? true
        }
        if isOfVariant ?? false || removals[.everything] != nil { return true }
        // Of what is stored under a name, the URL is not known any more.
        if key.resource.isNamed, urls > 0 { return true }
        return CacheRemoval.covering(response, at: key).contains { removals[$0] != nil }
    }
}

extension CacheRemoval {
    fileprivate var isOfURL: Bool {
        switch self {
        case .resource(.url), .own, .below: true
        default: false
        }
    }
}

extension StoredResponse {
    /// What tells a response from others, also if it was read twice. It does not hold the body.
    struct Identity: Sendable, Equatable {
        let variant: CacheVariant
        let received: Date
        let status: Int
        let headers: HTTPHeaders
    }

    var identity: Identity {
        Identity(variant: variant, received: freshness.received.date, status: status, headers: headers)
    }
}
