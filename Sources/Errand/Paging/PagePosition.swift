/// A place in a list that is read page by page, at which reading can go on later.
///
/// It can be saved. It holds what the server has said of the place, a cursor or a URL perhaps, without the client's
/// `parameters`, but with those that are asked for at each call if the server repeats them: keep it as you would keep
/// an answer. It fits the same endpoint and the same way of paging only.
public struct PagePosition: Sendable, Hashable {
    /// How the page there is asked for.
    enum Location: Sendable, Hashable {
        /// As the endpoint has it.
        case start
        case number(Int)
        /// A cursor, or the last identifier of the page before.
        case text(String)
        case url(String)
    }

    let place: Location
    /// How many elements of the page have been had already.
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

    /// Reads what `encode(to:)` has written.
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

    /// Writes one object with few members.
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

extension PagePosition: CustomStringConvertible, CustomReflectable {
    /// The place in words. Neither a cursor nor the query of a URL is shown: each may open what it leads to.
    public var description: String {
        let page =
            switch place {
            case .start: "the beginning"
            case .number(let number): "page \(number)"
            case .text: "the page after a cursor"
            case .url(let url): Redactor.standard.text(ofURL: String(url.prefix { $0 != "?" && $0 != "#" }))
            }
        return taken > 0 ? "\(page), \(taken) taken" : page
    }
    /// Shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["position": description]) }
}
