/// A position in a paged list, from which reading can resume later.
///
/// You can save it. It holds what the server named as the position, perhaps a cursor or a URL. The client's
/// `parameters` are not in it; those of `parametersForEachCall` are if the server repeats them in a URL, so protect it
/// like a response. It fits only the same endpoint and the same kind of paging.
public struct PagePosition: Sendable, Hashable {
    /// The way to request the page.
    enum Location: Sendable, Hashable {
        /// With the endpoint as it is.
        case start
        case number(Int)
        /// A cursor, or the last identifier of the previous page.
        case text(String)
        case url(String)
    }

    let place: Location
    /// The number of elements of the page that were already received.
    let taken: Int

    /// The beginning of the list.
    public static let start = PagePosition(.start)

    init(_ place: Location, taken: Int = 0) {
        self.place = place
        self.taken = taken
    }
}

extension PagePosition: Codable {
    private enum CodingKeys: String, CodingKey { case number, text, url, taken }

    /// Decodes a position that `encode(to:)` has written.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        if let number = try members.decodeIfPresent(Int.self, forKey: .number) {
            place = .number(number)
        } else if let text = try members.decodeIfPresent(String.self, forKey: .text) {
            place = .text(text)
        } else if let url = try members.decodeIfPresent(String.self, forKey: .url) {
            place = .url(url)
        } else {
            place = .start
        }
        taken = max(0, try members.decodeIfPresent(Int.self, forKey: .taken) ?? 0)
    }

    /// Encodes the position as one small object.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        switch place {
        case .start: break
        case .number(let number): try members.encode(number, forKey: .number)
        case .text(let text): try members.encode(text, forKey: .text)
        case .url(let url): try members.encode(url, forKey: .url)
        }
        if taken > 0 { try members.encode(taken, forKey: .taken) }
    }
}

extension PagePosition: OpaqueReflectable {
    /// The position in words, without a cursor and without the query of a URL: either may give access to the page.
    public var description: String {
        let page =
            switch place {
            case .start: "the beginning"
            case .number(let number): "page \(number)"
            case .text: "the page after a cursor"
            case .url(let url): Redactor.standard.text(ofURL: String(url.prefix(before: "?#")))
            }
        return taken > 0 ? "\(page), \(taken) taken" : page
    }
}
