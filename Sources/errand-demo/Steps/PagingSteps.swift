import Errand
import ExampleServices

extension Step {
    static let readPages = Step(
        title: "A long list, page by page", asked: "for try await page in movies.popular()"
    ) { scene in
        var (films, pages) = (0, 0)
        do throws(PagingError) {
            for try await page in scene.movies.popular() {
                films += page.value.results.count
                pages += 1
                scene.terminal.showProgress(films, of: page.value.totalResults, "films")
            }
        } catch {
            throw Failure(description: "\(error) at \(error.position)")
        }
        let sent = await scene.wire.all.count
        try expect(sent == pages, "\(sent) requests for \(pages) pages")
        return "\(films) films on \(pages) pages"
    }
}
